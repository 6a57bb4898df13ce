/** The Worker with a route, `/cross`, that crosses a limit and catches the error. For conformance/edge-limits.slow.test.ts. */
import { guardHandlers } from "../support/edge-limits/handlers.ts";
import weir from "../support/edge-worker.ts";

export * from "../support/edge-worker.ts";

export default guardHandlers({
  ...weir,
  async fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== "/cross") return weir.fetch(request, env, ctx);
    const statement = env.DB.prepare("SELECT length(?)").bind("x".repeat(2_000_001));
    return Response.json(await statement.first().catch(String));
  },
});
