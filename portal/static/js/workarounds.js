// Which fields belong to the kind of workaround that is chosen? The others are put away, and never lost.
(() => {
  "use strict";

  const sort = (form) => {
    const kind = form.querySelector("input[name=kind]:checked")?.value;
    for (const part of form.querySelectorAll("[data-kinds]")) {
      part.hidden = Boolean(kind) && !part.dataset.kinds.split(" ").includes(kind);
    }
  };
  const sortAll = () => document.querySelectorAll("form[data-workaround]").forEach(sort);

  document.addEventListener("change", (event) => {
    const form = event.target.closest?.("form[data-workaround]");
    if (form && event.target.name === "kind") sort(form);
  });
  document.addEventListener("htmx:afterSettle", sortAll);
  sortAll();
})();
