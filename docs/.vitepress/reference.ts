/**
 * The viewer of the API reference, beside the page that starts it (docs/public/reference.html): Scalar, as its plugin for Fastify
 * serves it. The plugin has the viewer's one script in it; `@scalar/api-reference` brings 200 MB of what that was made from.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import plugin from "@scalar/fastify-api-reference";

interface Route {
  url: string;
  handler: (request: unknown, reply: unknown) => unknown;
}

export function writeViewer(outDir: string): void {
  const routes: Route[] = [];
  const register = plugin as unknown as (server: object, options: object, next: () => void) => void;
  register({ route: (one: Route) => routes.push(one) }, { configuration: { url: "/openapi.json" } }, () => {});
  const script = routes.find(({ url }) => url.endsWith(".js"));
  if (!script) throw new Error("The plugin of Scalar serves no script.");
  const reply = {
    header: () => reply,
    send: (text: string) => writeFileSync(join(outDir, "reference", "viewer.js"), text),
  };
  script.handler({}, reply);
}
