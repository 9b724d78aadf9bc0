// What happens to a half-written comment? It is kept on the server and in this tab, stays through every swap and reload,
// and waits here while the portal can't be reached. Sent twice, it is one comment: the form's one-time token says so.
(() => {
  "use strict";

  const PREFIX = "qm-composer:";
  const PAUSE = 700, RETRY = 5000; // milliseconds
  const timers = new WeakMap();

  const forms = () => document.querySelectorAll("form[data-composer]");
  const name = (form) => PREFIX + form.dataset.composer;
  const say = (form, words) => { form.querySelector("[data-composer-state]").textContent = words; };
  const field = (form) => form.elements.text;

  function recall(form) {
    try { return JSON.parse(sessionStorage.getItem(name(form))); } catch { return null; }
  }
  function remember(form, kept) {
    try {
      if (field(form).value) sessionStorage.setItem(name(form), JSON.stringify({ text: field(form).value, token: form.elements.token.value, kept }));
      else sessionStorage.removeItem(name(form));
    } catch { /* private mode: the server's copy has to do */ }
  }

  function asData(form) {
    const data = new FormData();
    for (const each of ["csrfmiddlewaretoken", "token", "internal", "text"]) {
      if (form.elements[each]) data.set(each, form.elements[each].value);
    }
    return data;
  }

  async function keep(form) {
    const text = field(form).value;
    try {
      const answer = await fetch(form.dataset.draft, { method: "POST", body: asData(form), redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      if (field(form).value !== text) return;
      remember(form, true);
      if (!form.dataset.unsent) say(form, text ? "Draft kept." : "");
    } catch {
      if (!form.dataset.unsent) say(form, "The portal can't be reached. Your text stays here.");
      later(form, keep, RETRY);
    }
  }

  function later(form, what, pause) {
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(() => what(form), pause));
  }

  function wake(form) {
    if (form.dataset.awake) return;
    form.dataset.awake = "yes";
    const had = recall(form);
    if (!had) return;
    if (had.kept) { // the server knows newer: sent or written on from elsewhere
      if (!field(form).value) sessionStorage.removeItem(name(form));
    } else if (had.text !== field(form).value) {
      field(form).value = had.text;
      form.elements.token.value = had.token;
      form.closest("details")?.setAttribute("open", "");
      say(form, "Your text from before is back.");
      later(form, keep, PAUSE);
    }
  }

  // as it is typed
  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form[data-composer]");
    if (!form || event.target !== field(form)) return;
    remember(form, false);
    if (!form.dataset.unsent) later(form, keep, PAUSE);
  });
  window.addEventListener("pagehide", () => {
    for (const form of forms()) {
      const had = recall(form);
      if (had && !had.kept) navigator.sendBeacon?.(form.dataset.draft, asData(form));
    }
  });

  // as it is sent
  const sending = new WeakMap();
  const mine = (event) => event.detail.elt?.matches?.("form[data-composer]") ? event.detail.elt : null;

  document.addEventListener("htmx:beforeRequest", (event) => {
    const form = mine(event);
    if (!form) return;
    clearTimeout(timers.get(form));
    sending.set(form, field(form).value);
    say(form, "Sending…");
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.detail.requestConfig?.elt?.matches?.("form[data-composer]")) return;
    const away = new URL(event.detail.xhr.responseURL || location.href, location.href).pathname !== new URL(event.detail.requestConfig.path, location.href).pathname;
    if (event.detail.xhr.status >= 400 || away) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = mine(event);
    if (!form) return;
    const { xhr, requestConfig } = event.detail;
    const path = (address) => new URL(address, location.href).pathname;
    if (!xhr.status) return unsent(form, "Not sent: the portal can't be reached. Your text is kept and is sent when it is back.", true);
    if (xhr.responseURL && path(xhr.responseURL) !== path(requestConfig.path)) {
      return unsent(form, "Not sent: you are signed out. Your text is kept; sign in in another tab, then try again.", false);
    }
    if (xhr.status === 409) { // this token has sent its comment; what is written now is another one
      form.elements.token.value = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
      remember(form, false);
    }
    if (xhr.status >= 500) return unsent(form, "Not sent: the portal has trouble. Your text is kept and is sent again.", true);
    if (xhr.status >= 400) {
      const answer = new DOMParser().parseFromString(xhr.responseText, "text/html");
      return unsent(form, `Not sent. ${answer.querySelector(".notice")?.textContent.trim() || `The portal answered ${xhr.status}.`} Your text is kept.`, false);
    }
    sent(form, xhr);
  });

  function unsent(form, words, again) {
    form.dataset.unsent = "yes";
    remember(form, false);
    say(form, words);
    form.querySelector("[data-again]").hidden = false;
    if (again) later(form, retry, RETRY);
  }
  function retry(form) { if (form.isConnected && form.dataset.unsent) form.requestSubmit(form.querySelector("button:not([type])")); }

  function sent(form, xhr) {
    delete form.dataset.unsent;
    form.querySelector("[data-again]").hidden = true;
    if (field(form).value === sending.get(form)) field(form).value = ""; // whoever went on writing keeps that
    field(form).defaultValue = "";
    form.elements.files.value = "";
    document.getElementById(form.querySelector("[data-preview]").dataset.preview).replaceChildren();
    try { form.elements.token.value = JSON.parse(xhr.getResponseHeader("HX-Trigger")).commented.token; } catch { form.elements.token.value = ""; }
    remember(form, false);
    say(form, "");
    if (field(form).value) later(form, keep, PAUSE);
  }

  window.addEventListener("online", () => { for (const form of forms()) if (form.dataset.unsent) retry(form); });
  document.addEventListener("click", (event) => {
    const again = event.target.closest?.("[data-again]");
    if (again) return retry(again.form);
    const look = event.target.closest?.("[data-preview]");
    if (look) {
      event.preventDefault();
      htmx.ajax("POST", look.getAttribute("formaction"), { source: look, target: `#${look.dataset.preview}`, swap: "innerHTML", values: { text: field(look.form).value } });
    }
  });
  document.addEventListener("DOMContentLoaded", () => forms().forEach(wake));
  document.addEventListener("htmx:afterSwap", () => forms().forEach(wake));
})();
