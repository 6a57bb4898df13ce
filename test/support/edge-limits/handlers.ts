/** The Worker's handlers, each call an invocation of its own. */
import { type Invocation, invoke } from "./invocation.ts";
import { CROSSINGS_PATH, takeCrossings } from "./record.ts";

/** Subrequests that a request made until its response began. */
const SUBREQUESTS_HEADER = "x-weir-test-subrequests";

type Handlers = Required<Pick<ExportedHandler<Env>, "fetch" | "queue" | "scheduled">>;

/**
 * The handlers, with a header on each response that says how many subrequests it took, and a route that returns
 * crossings.
 */
export function guardHandlers({ fetch, queue, scheduled }: Handlers): Handlers {
  return {
    fetch: (request, env, ctx) =>
      invoke("fetch", async (invocation) => {
        if (new URL(request.url).pathname === CROSSINGS_PATH) return Response.json(takeCrossings());
        return addCount(await fetch(request, env, ctx), invocation);
      }),
    queue: (batch, env, ctx) => invoke(`queue ${batch.queue}`, () => queue(batch, env, ctx)),
    scheduled: (controller, env, ctx) => invoke("scheduled", () => scheduled(controller, env, ctx)),
  };
}

function addCount(response: Response, { subrequests }: Invocation): Response {
  try {
    response.headers.set(SUBREQUESTS_HEADER, String(subrequests));
    return response;
  } catch {
    // The headers of another server's response are immutable.
    const copy = new Response(response.body, response);
    copy.headers.set(SUBREQUESTS_HEADER, String(subrequests));
    return copy;
  }
}
