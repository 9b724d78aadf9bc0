// Which questions of a request form are asked right now? Those that aren't are hidden and not sent.
// Without this script all are shown; the server drops answers to what wasn't asked.
(() => {
  "use strict";

  function answers(form, name) {
    return [...form.elements]
      .filter((field) => field.name === name && !field.disabled)
      .flatMap((field) => {
        if (field.type === "radio" || field.type === "checkbox") {
          if (!field.checked) return [];
          return [field.hasAttribute("value") ? field.value : "true"];
        }
        return [field.value];
      });
  }

  function look(form) {
    // in the order of the page: a question may depend on one that itself isn't asked
    for (const part of form.querySelectorAll("[data-show-when]")) {
      const wanted = JSON.parse(part.dataset.showFor);
      const asked = answers(form, part.dataset.showWhen).some((answer) => wanted.includes(answer));
      part.hidden = !asked;
      for (const field of part.querySelectorAll("input, select, textarea")) field.disabled = !asked;
    }
  }

  const forms = () => document.querySelectorAll("[data-request-form]");
  document.addEventListener("DOMContentLoaded", () => forms().forEach(look));
  document.addEventListener("htmx:afterSwap", () => forms().forEach(look));
  document.addEventListener("change", (event) => {
    const form = event.target.closest?.("[data-request-form]");
    if (form) look(form);
  });
})();
