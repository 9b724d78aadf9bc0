// What is wrong with the page that is open, for who can't see it well or has no mouse? Returns a list of sentences.
const wrong = [];
const name = (e) => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""}${e.className?.trim ? "." + e.className.trim().split(/\s+/).join(".") : ""} “${(e.textContent || e.value || "").trim().slice(0, 40)}”`;
const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) && e.getClientRects().length > 0;
const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);

// names and structure
if (document.querySelectorAll("h1").length !== 1) wrong.push(`${document.querySelectorAll("h1").length} h1`);
if (!document.title) wrong.push("no title");
if (document.documentElement.lang !== "en") wrong.push("no language");
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) wrong.push(`id ${id} twice`);
for (const e of all("input:not([type=hidden]), select, textarea"))
  if (!e.labels?.length && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")) wrong.push(`no label: ${name(e)} ${e.name}`);
for (const e of all("a[href], button, summary"))
  if (!(e.textContent.trim() || e.getAttribute("aria-label"))) wrong.push(`no words: ${name(e)}`);
for (const e of all("svg"))
  if (e.getAttribute("aria-hidden") !== "true" && e.getAttribute("role") !== "img") wrong.push(`a drawing without words: ${name(e.parentElement)}`);
for (const attribute of ["aria-labelledby", "aria-describedby"])
  for (const e of document.querySelectorAll(`[${attribute}]`))
    for (const id of e.getAttribute(attribute).split(/\s+/)) if (!document.getElementById(id)) wrong.push(`${attribute} leads nowhere: ${id}`);
let level = 0;
for (const e of all("main h1, main h2, main h3, main h4")) {
  const now = Number(e.tagName[1]);
  if (now > level + 1) wrong.push(`h${level} is followed by ${name(e)}`);
  level = now;
}
for (const e of all("th")) if (!e.scope) wrong.push(`a head cell without scope: ${name(e)}`);

// size of what is pressed (WCAG 2.2: 24 px, links in text excepted)
for (const e of all("button, summary, select, input:not([type=hidden]), nav a, a.button")) {
  const box = e.getBoundingClientRect();
  if ((box.width < 24 || box.height < 24) && !["checkbox", "radio"].includes(e.type)) wrong.push(`too small to press: ${name(e)} ${Math.round(box.width)}×${Math.round(box.height)}`);
}

// contrast of every letter with the ground it really stands on
const parse = (text) => {
  const rgb = text.match(/^rgba?\(([\d.]+),? ([\d.]+),? ([\d.]+)(?:[,/ ]+([\d.]+))?\)$/);
  if (rgb) return [Number(rgb[1]), Number(rgb[2]), Number(rgb[3]), rgb[4] === undefined ? 1 : Number(rgb[4])];
  const srgb = text.match(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?\)$/);
  return srgb ? [srgb[1] * 255, srgb[2] * 255, srgb[3] * 255, srgb[4] === undefined ? 1 : Number(srgb[4])] : [0, 0, 0, 0];
};
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
const ground = (e) => {
  const layers = [];
  for (let at = e; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
  }
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
};
const luminance = (c) => {
  const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const seen = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !visible(e) || e.closest("[disabled], [aria-disabled=true], svg, progress, .visually-hidden, .skip, .gate-brand")) continue;
  const style = getComputedStyle(e);
  const back = ground(e);
  const ink = over(parse(style.color), back);
  const [high, low] = [luminance(ink), luminance(back)].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  const size = parseFloat(style.fontSize);
  const enough = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  const key = `${style.color} on ${back.slice(0, 3).map(Math.round)}`;
  if (ratio < enough && !seen.has(key)) { seen.add(key); wrong.push(`contrast ${ratio.toFixed(2)} (${key}): ${name(e)}`); }
}
return wrong;
