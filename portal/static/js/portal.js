// What needs a script in the browser? Copying, asking before what can't be undone, toasts, focus after a swap,
// following a log, and one key to search. Every page works without it.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);

  // toasts -----------------------------------------------------------------------------------------------------
  function toast(text, level = "info") {
    const made = $("#toast").content.firstElementChild.cloneNode(true);
    made.classList.add(`toast-${level}`);
    $("span", made).textContent = text;
    $("#toasts").append(made);
    if (level !== "error") setTimeout(() => made.remove(), 8000);
  }
  // a view says: response["HX-Trigger"] = json.dumps({"toast": {"text": "…", "level": "success"}})
  document.addEventListener("toast", (event) => toast(event.detail.text ?? event.detail.value, event.detail.level));

  document.addEventListener("click", (event) => {
    const close = event.target.closest("[data-close]");
    if (close) close.closest("[data-toast]")?.remove();

    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const text = copy.dataset.copy || $("pre, input", copy.closest(".code, .field-control"))?.textContent || "";
      navigator.clipboard?.writeText(text.trim()).then(
        () => toast("Copied.", "success"),
        () => toast("The browser did not let the page copy; select the text instead.", "warning"),
      );
    }

    const opener = event.target.closest("[data-dialog]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.dialog);
      if (dialog?.showModal) { event.preventDefault(); dialog.showModal(); }
    }
    const shut = event.target.closest("[data-dialog-close]");
    if (shut) { event.preventDefault(); shut.closest("dialog")?.close(); }
  });

  // asking first: <form data-confirm="This gives the nodes back."> and hx-confirm alike ------------------------
  function ask(text, goOn) {
    const dialog = $("#confirm");
    $("[data-text]", dialog).textContent = text;
    dialog.returnValue = "no";
    dialog.addEventListener("close", () => { if (dialog.returnValue === "yes") goOn(); }, { once: true });
    dialog.showModal();
  }
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const text = event.submitter?.dataset.confirm ?? form.dataset.confirm;
    if (text && !form.dataset.confirmed) {
      event.preventDefault();
      event.stopImmediatePropagation();
      ask(text, () => {
        form.dataset.confirmed = "yes";
        form.requestSubmit(event.submitter);
        delete form.dataset.confirmed;
      });
      return;
    }
    // a second click while the first is under way does nothing; the server's one-time key is what really counts
    if (form.method === "post" && !form.matches("[hx-post], [hx-get]")) {
      if (form.dataset.sent) { event.preventDefault(); return; }
      form.dataset.sent = "yes";
    }
  }, true);
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });
  document.addEventListener("htmx:confirm", (event) => {
    if (!event.detail.question) return;
    event.preventDefault();
    ask(event.detail.question, () => event.detail.issueRequest(true));
  });

  // after a swap: focus what asks for it; say when a request failed --------------------------------------------
  document.addEventListener("htmx:afterSwap", (event) => {
    wake(event.detail.elt);
    const wanted = event.detail.elt.matches?.("[data-focus]") ? event.detail.elt : $("[data-focus]", event.detail.elt);
    wanted?.focus();
  });
  document.addEventListener("htmx:responseError", (event) => {
    const answer = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
    toast($(".notice p", answer)?.textContent.trim() || `The portal answered ${event.detail.xhr.status}.`, "error");
  });
  document.addEventListener("htmx:sendError", () => toast("The portal can't be reached right now.", "warning"));

  function wake(root) {
    for (const button of root.querySelectorAll?.("[data-copy][hidden]") ?? []) button.hidden = !navigator.clipboard;
  }

  // "/" goes to the search field; off when typing, and when the person said so on their profile -----------------
  document.addEventListener("keydown", (event) => {
    if (document.body.dataset.keys === "off" || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]")) return;
    const search = $("[data-search]");
    if (search) { event.preventDefault(); search.closest("details:not([open])")?.toggleAttribute("open", true); search.focus(); search.select(); }
  });

  document.addEventListener("DOMContentLoaded", () => {
    wake(document);
    if (!location.hash) $("[data-focus]")?.focus();
  });
})();
