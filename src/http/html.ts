/** Pages that the server itself shows to people. No scripts; every value is escaped by hono/html. */
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { Context } from "hono";
import { serverOrigin, type App } from "./context.ts";

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** The look of the browser application (packages/web/style/tokens.css), in one style element: the page loads nothing. */
const STYLE = `
:root { color-scheme: light dark; --canvas: #f4f8f7; --surface: #fcfefe; --sunken: #eaf0f0; --hover: #e2eaea; --line: #d2dbdc; --control: #778788; --text: #182225; --text-2: #455356; --text-3: #5b696c; --water: #05697d; --on-water: #fcfefe; --red: #af2f30 }
@media (prefers-color-scheme: dark) { :root { --canvas: #0e1415; --surface: #151c1e; --sunken: #080e10; --hover: #1e2729; --line: #2b3537; --control: #69787a; --text: #e4e9e9; --text-2: #aab5b6; --text-3: #8f9b9d; --water: #60c1d4; --on-water: #0e1415; --red: #f48a82 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100dvh; display: grid; align-content: center; justify-items: center; gap: 16px; padding: 16px; background: var(--canvas); color: var(--text); font: 400 14px/20px "Atkinson Hyperlegible Next", system-ui, sans-serif }
header { display: flex; align-items: center; gap: 8px; width: 100%; max-width: 440px; font-size: 15px; font-weight: 600 }
header svg { fill: none; stroke: currentColor; stroke-width: 2 } header .water { stroke: var(--water) }
main { width: 100%; max-width: 440px; padding: 24px; background: var(--surface); border: 1px solid var(--line); border-radius: 6px }
h1 { margin: 0 0 8px; font-size: 18px; font-weight: 650; line-height: 24px; overflow-wrap: anywhere }
p { margin: 8px 0 } main > :last-child { margin-bottom: 0 } p, dd { overflow-wrap: anywhere }
.soft { color: var(--text-2); font-size: 13px } .bad { color: var(--red) }
dl { margin: 16px 0; display: grid; gap: 8px } dt { color: var(--text-3); font-size: 12px; line-height: 16px } dd { margin: 0; font-weight: 600 }
pre { margin: 8px 0; padding: 8px 10px; background: var(--sunken); border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/18px ui-monospace, monospace }
fieldset { margin: 16px 0; padding: 4px 12px 8px; border: 1px solid var(--line); border-radius: 4px } legend { padding: 0 4px; font-size: 12px; color: var(--text-3) }
label { display: flex; gap: 8px; align-items: baseline; margin: 6px 0 } label.field { display: block; margin-top: 16px; font-weight: 600 }
input[type=checkbox], input[type=radio] { accent-color: var(--water) }
input[type=password], input[type=number], textarea { display: block; width: 100%; min-height: 32px; margin-top: 8px; padding: 5px 10px; font: inherit; font-weight: 400; color: inherit; background: var(--surface); border: 1px solid var(--control); border-radius: 4px }
.actions { display: flex; gap: 8px; margin-top: 16px; flex-wrap: wrap }
button, .button { flex: 1 1 128px; min-height: 32px; padding: 5px 16px; text-align: center; text-decoration: none; font: inherit; font-weight: 600; color: var(--text); background: var(--surface); border: 1px solid var(--control); border-radius: 4px; cursor: pointer }
button:hover, .button:hover { background: var(--hover) }
.primary { background: var(--water); border-color: var(--water); color: var(--on-water) } .primary:hover { background: color-mix(in oklab, var(--water) 88%, var(--text)) }
:focus-visible { outline: 2px solid var(--water); outline-offset: 2px }
@media (pointer: coarse) { button, .button, input[type=password], input[type=number], textarea { min-height: 44px; font-size: 16px } .button { line-height: 32px } }
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
        <header>
          <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
            <path d="M4 1v16M4 3h4M4 9h6M4 15h4" />
            <path class="water" d="M4 9v8M11.5 12.5c1.5-1.3 3-1.3 4.5 0M11.5 16c1.5-1.3 3-1.3 4.5 0" />
          </svg>
          Weir
        </header>
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

// Cookies of the server's own pages. A page of another site can neither read nor replace them.

const isHttps = (c: Context<App>) => serverOrigin(c).startsWith("https:");

/** A `__Host-` cookie must be Secure, which not every browser allows over plain http on localhost. */
export const cookieName = (c: Context<App>, name: string) => (isHttps(c) ? `__Host-${name}` : name);

export const cookieAttributes = (c: Context<App>) =>
  ({ path: "/", httpOnly: true, secure: isHttps(c), sameSite: "Lax" }) as const;

/** Whether the request comes from a page of this server. Browsers send `Origin` with every request that is no GET or HEAD. */
export function isOwnOrigin(c: Context<App>): boolean {
  return c.req.header("origin") === new URL(serverOrigin(c)).origin;
}
