"""What may an admin look at and change by hand? People and teams; all else is shown, and changed by its services alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db import models
from django.http import HttpRequest

from portal.accounts.models import Membership, SignInTry, Team, User

if TYPE_CHECKING:  # the stubs' admin classes are generic, Django's are not
    _ModelAdmin = admin.ModelAdmin[models.Model]
    _TeamAdmin = admin.ModelAdmin[Team]
    _TeamInline = admin.TabularInline[Membership, Team]
    _UserAdmin = UserAdmin[User]
else:
    _ModelAdmin = _TeamAdmin = admin.ModelAdmin
    _TeamInline = admin.TabularInline
    _UserAdmin = UserAdmin

HOUSES = ("portal", "provisioning", "requests_app")
CHANGEABLE = (User, Team)
HIDDEN = (Membership, SignInTry)  # a membership is a row of its team; tries are nobody's to read
_SHORT = 7
_SECRET = frozenset({"secret_hash", "sealed", "password", "secret_url"})


class ReadOnly(_ModelAdmin):
    """Shows rows and their fields; nothing can be added, changed or deleted past the services."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


class MembershipInline(_TeamInline):
    """People of a team, as rows of its page."""

    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


class TeamAdmin(_TeamAdmin):
    """Teams with their people."""

    list_display = ("name", "slug", "time_zone", "created_at")
    search_fields = ("name", "slug")
    inlines = (MembershipInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: Team | None = None) -> tuple[str, ...]:
        """The slug is in addresses, on nodes and in the ledger: it stays."""
        return ("created_at",) if obj is None else ("slug", "created_at")


class PersonAdmin(_UserAdmin):
    """People, with what they are in infra."""

    list_display = ("username", "first_name", "last_name", "staff_role", "is_active", "last_login")
    list_filter = ("staff_role", "is_active")
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email", "time_zone", "ssh_public_keys")}),
        ("Rights", {"fields": ("is_active", "staff_role", "is_staff", "is_superuser")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")


def _columns(model: type[models.Model]) -> tuple[str, ...]:
    plain = [
        field.name
        for field in model._meta.concrete_fields
        if field.name not in _SECRET and not isinstance(field, models.JSONField | models.TextField)
    ]
    return tuple(plain[:_SHORT])


def _read_only(model: type[models.Model]) -> type[ReadOnly]:
    related = tuple(
        field.name for field in model._meta.concrete_fields if isinstance(field, models.ForeignKey)
    )
    secret = tuple(name for name in _SECRET if name in {field.name for field in model._meta.fields})
    return type(
        f"{model.__name__}Admin",
        (ReadOnly,),
        {"list_display": _columns(model), "list_select_related": related, "exclude": secret},
    )


def is_shown(model: type[models.Model]) -> bool:
    """True when the admin site has it. It can't show rows with a key of several columns; such have a page of their own."""
    return model not in HIDDEN and not isinstance(model._meta.pk, models.CompositePrimaryKey)


def register_all() -> None:
    """Register every model of the house once."""
    admin.site.unregister(Group)  # roles are the matrix in accounts.access, not groups
    admin.site.register(User, PersonAdmin)
    admin.site.register(Team, TeamAdmin)
    for house in HOUSES:
        for model in apps.get_app_config(house).get_models():
            if model not in CHANGEABLE and is_shown(model):
                admin.site.register(model, _read_only(model))


admin.site.site_header = "Quartermaster"
admin.site.site_title = "Quartermaster admin"
admin.site.index_title = "Rows of the house"
admin.site.site_url = "/"
register_all()
