/** `/docs`: the API's reference as a page that loads its style, its script and /openapi.json. */
import { Hono } from "hono";
import { documented } from "../http/documented.ts";
import type { App } from "../http/types.ts";

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weir API</title>
<link rel="stylesheet" href="docs/style.css">
<script src="docs/script.js" defer></script>
<main>
  <h1>Weir API</h1>
  <p>Made from <a href="openapi.json">openapi.json</a>. Send an API key in <code>X-API-Key</code>.</p>
  <label>Find a route <input id="find" type="search" autocomplete="off"></label>
  <div id="routes"><p>Loading…</p></div>
</main>
</html>
`;

const STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin: 2rem 0 .5rem; border-bottom: 1px solid #8886 }
summary { cursor: pointer; padding: .3rem 0 }
summary:focus-visible { outline: 2px solid }
code { font-family: ui-monospace, monospace }
.method { display: inline-block; width: 4.5rem; font-weight: 700 }
pre { overflow: auto; padding: 1rem; border: 1px solid #8886; border-radius: .4rem }
input { width: 100%; box-sizing: border-box; padding: .5rem; font: inherit }
`;

const SCRIPT = `const routes = document.getElementById("routes");
const make = (tag, text, parent, cls) => {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  if (cls) node.className = cls;
  parent.append(node);
  return node;
};
const details = (operation) => {
  const shown = {};
  if (operation.parameters) shown.parameters = operation.parameters;
  if (operation.requestBody) shown.requestBody = operation.requestBody;
  if (operation.responses) shown.responses = operation.responses;
  return JSON.stringify(shown, null, 2);
};
const show = ({ paths }) => {
  routes.textContent = "";
  const groups = new Map();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = (operation.tags || ["Other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push({ path, method: method.toUpperCase(), operation });
    }
  }
  for (const [tag, list] of [...groups].sort()) {
    const section = make("section", "", routes);
    make("h2", tag, section);
    for (const { path, method, operation } of list) {
      const row = make("details", "", section);
      row.dataset.text = (method + " " + path + " " + (operation.summary || "")).toLowerCase();
      const summary = make("summary", "", row);
      make("code", method, summary, "method");
      make("code", path, summary);
      make("span", operation.summary ? " — " + operation.summary : "", summary);
      make("pre", details(operation), row);
    }
  }
};
document.getElementById("find").addEventListener("input", ({ target }) => {
  const wanted = target.value.toLowerCase();
  for (const row of routes.querySelectorAll("details")) row.hidden = !row.dataset.text.includes(wanted);
  for (const section of routes.querySelectorAll("section")) {
    section.hidden = !section.querySelector("details:not([hidden])");
  }
});
fetch("openapi.json").then((answer) => answer.json()).then(show).catch(() => {
  routes.textContent = "The description could not be loaded.";
});
`;

/** The page shows no images and sends no forms. Its style and script are files, so that nothing inline needs to be allowed. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const doc = documented("System");

export const docs = new Hono<App>()
  .get("/docs", doc("This reference, as a page"), (c) => c.html(PAGE, 200, { "content-security-policy": POLICY }))
  .get("/docs/style.css", doc("The style of the reference"), (c) =>
    c.body(STYLE, 200, { "content-type": "text/css; charset=utf-8" }),
  )
  .get("/docs/script.js", doc("The script of the reference"), (c) =>
    c.body(SCRIPT, 200, { "content-type": "text/javascript; charset=utf-8" }),
  );
