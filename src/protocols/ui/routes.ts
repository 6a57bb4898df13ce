/**
 * Generative UI: `/ui`. A page posts a component's name and gets the markup that loads it; the markup names files of the
 * deployment's own bundle. The files are public: a browser loads scripts and style sheets without a credential.
 */
import { Hono } from "hono";
import { etag, RETAINED_304_HEADERS } from "hono/etag";
import * as v from "valibot";
import type { Principal } from "../../http/principal.ts";
import { resolveAssistant } from "../../agents/assistants/store.ts";
import { database } from "../../db/client.ts";
import { createDoc, eitherBody, media } from "../../http/route.ts";
import { serverAddress, type App } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import { body } from "../../http/validate.ts";
import { mayUse } from "../../threads/api/access.ts";
import { loadFiles, type UiFiles, uis } from "../../deployment.ts";
import { globalName } from "./global-name.ts";

const TYPES: Record<string, string> = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

const Component = v.object({
  // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
  name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200), v.regex(/^[^\x00-\x1f\x7f]*$/, "has control characters")),
});

const doc = createDoc("Generative UI");
const FILE = { 200: eitherBody(media("text/javascript"), media("text/css"), media("text/plain")), 304: {} };

const CORP = "cross-origin-resource-policy";
/** A browser takes this header of a 304 too. */
const notModified = etag({ retainedHeaders: [...RETAINED_304_HEADERS, CORP] });

export const ui = new Hono<App>()
  .post(
    "/:assistant_id",
    doc("The markup that loads a UI component of a graph", { 200: media("text/html") }),
    body(Component),
    async (c) => {
      const name = await resolveBundle(c.req.param("assistant_id"), c.env, c.get("principal"));
      const files = name === undefined ? undefined : await loadFiles(name);
      if (name === undefined || !files) throw new Problem(404, `There is no UI for "${c.req.param("assistant_id")}".`);
      const base = `${serverAddress(c)}/ui/${encodeURIComponent(name)}`;
      return c.html(markup(name, c.req.valid("json").name, base, files));
    },
  )
  .get("/:assistant_id/:file", doc("A script or style sheet of UI components", FILE), notModified, async (c) => {
    const file = c.req.param("file");
    const files = await loadFiles(c.req.param("assistant_id"));
    const text = files && Object.hasOwn(files, file) ? files[file] : undefined;
    if (text === undefined) throw new Problem(404, "UI file not found.");
    return c.body(text, 200, {
      // A page of another site loads it with <script> and <link>.
      [CORP]: "cross-origin",
      "content-type": TYPES[file.split(".").at(-1) ?? ""] ?? "text/plain; charset=utf-8",
      "cache-control": "no-cache",
    });
  });

/** The bundle's name: the name itself, or the graph of the assistant that it names. */
async function resolveBundle(name: string, env: Env, principal: Principal): Promise<string | undefined> {
  if (Object.hasOwn(uis, name)) return name;
  const assistant = await resolveAssistant(database(env.DB), principal.workspaceId, name);
  return assistant && (await mayUse(principal, assistant)) ? assistant.graph_id : undefined;
}

/** The client replaces `{{shadowRootId}}` with the id of the element that the component is shown in. */
function markup(name: string, component: string, base: string, files: UiFiles): string {
  const ending = (end: string) => Object.keys(files).filter((file) => file.endsWith(end));
  const call = `${globalName(name)}.render(${JSON.stringify(component)}, "{{shadowRootId}}")`;
  const attribute = call.replace(/[&'<>]/g, (char) => `&#${char.charCodeAt(0)};`);
  return [
    ...ending(".css").map((file) => `<link rel="stylesheet" href="${base}/${file}" />`),
    ...ending(".js").map((file) => `<script src="${base}/${file}" onload='${attribute}'></script>`),
  ].join("\n");
}
