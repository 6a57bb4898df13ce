/** What a person sees: sign in, consent, and errors. No scripts; every value is escaped by hono/html. */
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { Scope } from "../auth/principal.ts";
import type { AuthorizationRequest, Parameters } from "./request.ts";

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

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
input[type=password] { display: block; width: 100%; margin-top: .35rem; padding: .6rem .7rem; font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: .5rem }
.actions { display: flex; gap: .75rem; margin-top: 1.25rem; flex-wrap: wrap }
button, .button { flex: 1 1 8rem; text-align: center; text-decoration: none; padding: .65rem 1rem; font: inherit; font-weight: 600; border-radius: .5rem; border: 1px solid var(--act); background: none; color: var(--act); cursor: pointer }
.primary { background: var(--act); color: var(--on-act) }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px }
`;

const MEANING: Record<Scope, string> = {
  read: "Read threads, runs, assistants and traces",
  write: "Start and change runs, threads, assistants and traces",
  exports: "Manage bulk exports and where they go",
  admin: "Manage API keys and access, and read the audit log",
};

/** A page with its headers. `formTarget`: where a form of the page may lead besides this server. */
function page(title: string, content: Html, status: number, formTarget = ""): Response | Promise<Response> {
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

/** Shown instead of a redirect whenever the request's origin or destination is in doubt. */
export function errorPage(message: string, back?: { address: string; redirectUri: string }) {
  const link = back
    ? html`<div class="actions">
        <a class="button" href="${back.address}">Return to ${placeOf(back.redirectUri)}</a>
      </div>`
    : html`<p class="soft">Nothing was granted. You can close this page.</p>`;
  return page(
    "Cannot continue",
    html`<h1>This request cannot go on</h1>
      <p>${message}</p>
      ${link}`,
    400,
  );
}

export interface SignInChoices {
  /** On one's own machine with AUTH=open: go on as the local workspace, without a key. */
  open: boolean;
  /** The host of the configured OpenID provider, if any. */
  provider: string | undefined;
  fault?: string;
}

export function signInPage(request: AuthorizationRequest, { open, provider, fault }: SignInChoices) {
  const query = new URLSearchParams(request.parameters).toString();
  const form = html`
    <h1>Sign in to continue to ${nameOf(request)}</h1>
    <p class="soft">It asked for access to a workspace on this server. You decide on the next page.</p>
    ${fault ? html`<p class="bad" role="alert">${fault}</p>` : ""}
    ${
      open
        ? html`<form method="post" action="/oauth/authorize">
            ${hidden(request.parameters)}
            <div class="actions">
              <button class="primary" name="step" value="open">Continue as the local workspace</button>
            </div>
          </form>`
        : ""
    }
    ${
      provider
        ? html`<div class="actions">
            <a class="button primary" href="/oauth/openid/start?${query}">Sign in with ${provider}</a>
          </div>`
        : ""
    }
    <form method="post" action="/oauth/authorize">
      ${hidden(request.parameters)}
      <label class="field">
        API key of the workspace
        <input type="password" name="api_key" autocomplete="off" spellcheck="false" required autofocus />
      </label>
      <div class="actions">
        <button class="${open || provider ? "" : "primary"}" name="step" value="key">Sign in</button>
      </div>
    </form>
  `;
  return page("Sign in", form, fault ? 401 : 200);
}

export interface Consent {
  workspace: string;
  /** The scopes that may be granted: those asked for that the person has. */
  scopes: Scope[];
  /** Ties the answer to this sign-in and this request. */
  proof: string;
}

export function consentPage(request: AuthorizationRequest, { workspace, scopes, proof }: Consent) {
  const content = html`
    <h1>Allow ${nameOf(request)} to use this workspace?</h1>
    <dl>
      <div>
        <dt>Workspace</dt>
        <dd>${workspace}</dd>
      </div>
      <div>
        <dt>It returns to</dt>
        <dd>${placeOf(request.redirectUri)}</dd>
      </div>
      ${
        request.resource
          ? html`<div>
              <dt>Only for</dt>
              <dd>${request.resource}</dd>
            </div>`
          : ""
      }
    </dl>
    <form method="post" action="/oauth/authorize">
      ${hidden(request.parameters)}
      <input type="hidden" name="proof" value="${proof}" />
      <fieldset>
        <legend>It may</legend>
        ${scopes.map(
          (scope) =>
            html`<label><input type="checkbox" name="grant" value="${scope}" checked /> ${MEANING[scope]}</label>`,
        )}
      </fieldset>
      <p class="soft">
        Anybody can register an application under any name. Allow it only if you started this yourself and know where it
        returns to.
      </p>
      <div class="actions">
        <button name="step" value="deny">Deny</button>
        <button class="primary" name="step" value="allow">Allow</button>
      </div>
    </form>
  `;
  return page("Allow access", content, 200, formTarget(request.redirectUri));
}

function nameOf({ client }: AuthorizationRequest): string {
  return client.name ?? "an unnamed application";
}

/** Where a redirect URI leads, in words a person can check. */
function placeOf(redirectUri: string): string {
  const url = new URL(redirectUri);
  if (url.protocol === "https:") return url.host;
  if (url.protocol === "http:") return `${url.host} (this device)`;
  return `the application on this device that opens ${url.protocol} links`;
}

/** Browsers apply form-action to the redirects after a form too. An IPv6 host cannot be written in a policy. */
function formTarget(redirectUri: string): string {
  const url = new URL(redirectUri);
  return /^https?:$/.test(url.protocol) && !url.host.startsWith("[") ? url.origin : url.protocol;
}

function hidden(parameters: Parameters): Html[] {
  return Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
}
