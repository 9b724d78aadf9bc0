// What happens to half-typed text when the ticket changes under it? It stays, and a notice says so.
(() => {
  "use strict";

  const changed = (field) =>
    field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  const typed = (root) => [...root.querySelectorAll("textarea, input:not([type=hidden])")].some(changed);

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const side = event.detail.target;
    if (!["side", "offer"].includes(side?.id) || !typed(side)) return;
    event.detail.shouldSwap = false;
    const notice = document.querySelector("[data-changed]");
    if (notice) notice.hidden = false;
  });
})();
