"""Django's settings, all of them derived from Config."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from portal.api.openapi import SETTINGS as OPENAPI
from portal.config import config
from portal.embedded import locations

CONFIG = config()
BASE_DIR = CONFIG.base_dir
VAR_DIR = CONFIG.var_dir


def _secret_key() -> str:
    """The key of the environment, or one kept in the var folder, readable by its owner alone."""
    if CONFIG.secret_key is not None:
        return CONFIG.secret_key
    path = VAR_DIR / "secret_key"
    VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        fresh = path.with_suffix(f".{secrets.token_hex(4)}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(50), encoding="ascii")
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text(encoding="ascii")


def _database() -> dict[str, Any]:
    if CONFIG.database_url is None:
        return locations.database_settings(VAR_DIR)
    return locations.settings_from_url(CONFIG.database_url)


SECRET_KEY = _secret_key()
DEBUG = CONFIG.debug
ALLOWED_HOSTS = list(CONFIG.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(CONFIG.csrf_trusted_origins)

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "rest_framework",
    "template_partials",
    "portal",
    "provisioning",
    "requests_app",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "portal.shell.middleware.refuse_nul",
    "portal.shell.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.shell.middleware.in_their_time_zone",
    "portal.shell.middleware.errors_as_pages",
    "portal.api.idempotency.idempotent",
]

ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.shell.context.frame",
            ],
            "builtins": ["portal.shell.templatetags.portal_tags"],
            "libraries": {"notify": "portal.notify.templatetags.notify"},
        },
    }
]

DATABASES = {"default": {**_database(), "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "portal.User"
LOGIN_URL = "accounts:sign-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "accounts:sign-in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = CONFIG.time_zone

STATIC_URL = "/static/"
STATIC_ROOT = None  # nothing to collect: WhiteNoise serves what the finders find
STATICFILES_DIRS = [BASE_DIR / "portal" / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_ROOT = None

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CONFIG.https
CSRF_COOKIE_SECURE = CONFIG.https
SECURE_SSL_REDIRECT = CONFIG.https
SECURE_HSTS_SECONDS = 31_536_000 if CONFIG.https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "manifest-src": [SELF],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "portal.api.auth.TokenAuthentication",
        "portal.api.auth.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["portal.api.auth.SignedIn"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "portal.api.paging.CursorPages",
    "DEFAULT_SCHEMA_CLASS": "portal.api.schema.PortalSchema",
    "EXCEPTION_HANDLER": "portal.api.errors.problem",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = OPENAPI

CELERY_BROKER_URL = CONFIG.broker_url or locations.broker_url(VAR_DIR)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Nobody asks a worker anything by message: the database knows who is at work. With remote control each
# holds an exclusive queue of its name, and RabbitMQ turns a second worker of that name away: one that is
# restarted after kill -9, or two machines of one host name.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TASK_DEFAULT_QUEUE = "doorbell"
CELERY_TASK_ROUTES = {"jobs.run": {"queue": "jobs"}}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 2
# A bell behind a long job is held without a word; after half an hour RabbitMQ closes the channel of whoever holds it,
# and a worker that takes this for its own fault ends. It asks for a new one instead.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
# A broker that is frozen takes every word and never answers. Nobody may hang on it: pages ring, and the sweep that takes
# lost jobs over rings, too. Who waits for messages of a Valkey asks once a second, so a silence of five says that it is
# away; a RabbitMQ answers each step of a line at once, and taking leave of one that doesn't is three steps more.
REDIS_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 5, "visibility_timeout": 43_200}
AMQP_OPTIONS = {"read_timeout": 3, "write_timeout": 3}
CELERY_BROKER_TRANSPORT_OPTIONS = AMQP_OPTIONS if CELERY_BROKER_URL.startswith("amqp") else REDIS_OPTIONS
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"

ATTACHMENTS_DIR = Path(VAR_DIR / "attachments")
ATTACHMENT_MIB = CONFIG.attachment_mib
ATTACHMENTS_TICKET_MIB = CONFIG.attachments_ticket_mib
ATTACHMENTS_TEAM_MIB = CONFIG.attachments_team_mib
PUBLIC_URL = CONFIG.public_url
MAIL_URL, MAIL_FROM, MAIL_IN_URL = CONFIG.mail_url, CONFIG.mail_from, CONFIG.mail_in_url
NOTIFY_DELAY_SECONDS, DIGEST_HOUR = CONFIG.notify_delay_seconds, CONFIG.digest_hour
CHAT_URL, CHAT_ALLOWED_HOSTS = CONFIG.chat_url, CONFIG.chat_allowed_hosts
COMMENT_EDIT_MINUTES = CONFIG.comment_edit_minutes

JOBS_DIR = Path(VAR_DIR / "jobs")
JOB_KEEPER = [sys.executable, "-m", "provisioning.jobs.keeper"]
OVERFLOW_DIR = Path(VAR_DIR / "overflow")
CHECKOUTS_DIR = Path(VAR_DIR / "checkouts")
ANSIBLE_DIR = BASE_DIR / "ansible"

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": CONFIG.log_level},
    "loggers": {
        # One line a bell and one a sweep every few seconds would bury what a person looks for.
        **{
            name: {"level": "WARNING"}
            for name in (
                "django.server",
                "celery.beat",
                "celery.worker.strategy",
                "celery.app.trace",
                "celery.worker.consumer.connection",
                "uvicorn.access",
            )
        },
        "kombu.connection": {"level": "ERROR"},  # it warns that the socket of the embedded broker has no host
    },
}
