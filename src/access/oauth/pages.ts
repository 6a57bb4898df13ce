/** What a person sees: sign in, consent, and errors. No scripts; every value is escaped by hono/html. */
import { html } from "hono/html";
import type { Scope } from "../../http/principal.ts";
import { withMountPrefix } from "../../http/context.ts";
import { type Html, htmlPage } from "../../http/html.ts";
import { isDocumentId } from "./register.ts";
import type { AuthorizationRequest, Parameters } from "./request.ts";

const MEANING: Record<Scope, string> = {
  read: "Read threads, runs, assistants and traces",
  write: "Start and change runs, threads, assistants and traces",
  exports: "Manage bulk exports and where they go",
  admin: "Manage API keys and access, and read the audit log",
};

/** Shown instead of a redirect whenever the request's origin or destination is in doubt. */
export function errorPage(message: string, back?: { address: string; redirectUri: string }) {
  const link = back
    ? html`<div class="actions">
        <a class="button" href="${back.address}">Return to ${describeRedirect(back.redirectUri)}</a>
      </div>`
    : html`<p class="soft">Nothing was granted. You can close this page.</p>`;
  return htmlPage(
    "Cannot continue",
    html`<h1>This request cannot continue</h1>
      <p>${message}</p>
      ${link}`,
    400,
  );
}

export interface SignInChoices {
  /** On localhost with AUTH=open: continue as the local workspace, without a key. */
  open: boolean;
  /** The host of the configured OpenID provider, if any. */
  provider: string | undefined;
  fault?: string;
}

export function signInPage(request: AuthorizationRequest, { open, provider, fault }: SignInChoices) {
  const query = new URLSearchParams(request.parameters).toString();
  const form = html`
    <h1>Sign in to continue to ${clientName(request)}</h1>
    <p class="soft">It requests access to a workspace on this server. You decide on the next page.</p>
    ${isDocumentId(request.client.id) ? html`<p class="soft">It is described by ${documentHost(request)}.</p>` : ""}
    ${fault ? html`<p class="bad" role="alert">${fault}</p>` : ""}
    ${
      open
        ? html`<form method="post" action="${withMountPrefix("/oauth/authorize")}">
            ${hiddenFields(request.parameters)}
            <div class="actions">
              <button class="primary" name="step" value="open">Continue as the local workspace</button>
            </div>
          </form>`
        : ""
    }
    ${
      provider
        ? html`<div class="actions">
            <a class="button primary" href="${withMountPrefix("/oauth/openid/start")}?${query}"
              >Sign in with ${provider}</a
            >
          </div>`
        : ""
    }
    <form method="post" action="${withMountPrefix("/oauth/authorize")}">
      ${hiddenFields(request.parameters)}
      <label class="field">
        API key of the workspace
        <input type="password" name="api_key" autocomplete="off" spellcheck="false" required autofocus />
      </label>
      <div class="actions">
        <button class="${open || provider ? "" : "primary"}" name="step" value="key">Sign in</button>
      </div>
    </form>
  `;
  return htmlPage("Sign in", form, fault ? 401 : 200);
}

export interface ConsentQuestion {
  workspace: string;
  /** The scopes that may be granted: the requested scopes that the person has. */
  scopes: Scope[];
  /** The networks from which the person's API key works: the application's access works from there only. Empty: from anywhere. */
  networks: string[];
  /** Ties the answer to this sign-in and this request. */
  proof: string;
}

export function consentPage(request: AuthorizationRequest, { workspace, scopes, networks, proof }: ConsentQuestion) {
  const content = html`
    <h1>Allow ${clientName(request)} to use this workspace?</h1>
    <dl>
      <div>
        <dt>Workspace</dt>
        <dd>${workspace}</dd>
      </div>
      ${
        isDocumentId(request.client.id)
          ? html`<div>
              <dt>It is described by</dt>
              <dd>${documentHost(request)}</dd>
            </div>`
          : ""
      }
      <div>
        <dt>It returns to</dt>
        <dd>${describeRedirect(request.redirectUri)}</dd>
      </div>
      ${
        networks.length > 0
          ? html`<div>
              <dt>Only from</dt>
              <dd>${networks.join(", ")}</dd>
            </div>`
          : ""
      }
      ${
        request.resource
          ? html`<div>
              <dt>Only for</dt>
              <dd>${request.resource}</dd>
            </div>`
          : ""
      }
    </dl>
    <form method="post" action="${withMountPrefix("/oauth/authorize")}">
      ${hiddenFields(request.parameters)}
      <input type="hidden" name="proof" value="${proof}" />
      <fieldset>
        <legend>It may</legend>
        ${scopes.map(
          (scope) =>
            html`<label><input type="checkbox" name="grant" value="${scope}" checked /> ${MEANING[scope]}</label>`,
        )}
      </fieldset>
      <p class="soft">
        ${describeNameOrigin(request)} Allow it only if you started this yourself and know where it returns to.
      </p>
      <div class="actions">
        <button name="step" value="deny">Deny</button>
        <button class="primary" name="step" value="allow">Allow</button>
      </div>
    </form>
  `;
  return htmlPage("Allow access", content, 200, formTarget(request.redirectUri));
}

function clientName({ client }: AuthorizationRequest): string {
  return client.name ?? "an unnamed application";
}

/** The host whose document describes the application. */
const documentHost = ({ client }: AuthorizationRequest) => new URL(client.id).host;

/** How far the application's name can be trusted. */
function describeNameOrigin(request: AuthorizationRequest): string {
  if (!isDocumentId(request.client.id)) return "Anyone can register an application under any name.";
  const host = documentHost(request);
  // RFC 8252 section 8.6: a loopback address proves nothing about the program that listens there.
  return request.redirectUri.startsWith("https:")
    ? `${host} chose the name of the application.`
    : `${host} chose the name of the application, but any program on this device can ask in its place.`;
}

/** Where a redirect URI leads, in words a person can check. */
function describeRedirect(redirectUri: string): string {
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

function hiddenFields(parameters: Parameters): Html[] {
  return Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
}
