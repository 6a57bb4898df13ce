/** Pages that the server itself shows to people. No scripts; every value is escaped by hono/html. */
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2427; --soft: #566267; --ground: #eef2f2; --card: #fff; --line: #cfd8d9; --act: #0b6470; --on-act: #fff; --bad: #a32020 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eeee; --soft: #a3b1b4; --ground: #12181a; --card: #1b2326; --line: #37454a; --act: #58c2cf; --on-act: #0b1416; --bad: #ff9c93 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 27rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1.75rem }
h1 { margin: 0 0 .75rem; font-size: 1.3rem; line-height: 1.3; overflow-wrap: anywhere }
p { margin: .5rem 0 } p, dd { overflow-wrap: anywhere }
.soft { color: var(--soft); font-size: .9rem } .bad { color: var(--bad) }
dl { margin: 1rem 0; display: grid; gap: .5rem } dt { color: var(--soft); font-size: .85rem } dd { margin: 0; font-weight: 600 }
fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 1rem 0; padding: .5rem 1rem .75rem } legend { padding: 0 .25rem; font-size: .9rem; color: var(--soft) }
label { display: flex; gap: .5rem; align-items: baseline; margin: .35rem 0 } label.field { display: block } label.field { font-weight: 600; margin-top: 1rem }
input[type=password], input[type=number], textarea { display: block; width: 100%; margin-top: .35rem; padding: .6rem .7rem; font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: .5rem }
.actions { display: flex; gap: .75rem; margin-top: 1.25rem; flex-wrap: wrap }
button, .button { flex: 1 1 8rem; text-align: center; text-decoration: none; padding: .65rem 1rem; font: inherit; font-weight: 600; border-radius: .5rem; border: 1px solid var(--act); background: none; color: var(--act); cursor: pointer }
.primary { background: var(--act); color: var(--on-act) }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px }
`;

/** An answer that is a page of its own. `formTarget`: where a form of the page may lead besides this server. */
export function htmlPage(title: string, content: Html, status: number, formTarget = ""): Response | Promise<Response> {
  const nonce = crypto.randomUUID();
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} - Weir</title>
        <style nonce="${nonce}">
          ${raw(STYLE)}
        </style>
      </head>
      <body>
        <main>${content}</main>
      </body>
    </html>`;
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      `form-action 'self' ${formTarget}`.trim(),
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join("; "),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    // With no-referrer browsers would send `Origin: null` with the forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
  };
  return document instanceof Promise
    ? document.then((text) => new Response(text, { status, headers }))
    : new Response(document, { status, headers });
}
