/** The playground: one call of a model with edited messages. Mounted at `/api/v1`. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { limitPaid } from "../../access/auth/limits.ts";
import { createDoc, EVENTS } from "../../http/route.ts";
import { sseResponse } from "../../http/sse.ts";
import { Problem } from "../../lib/problem.ts";
import type { App, IdempotencyKey } from "../../http/context.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import { body } from "../../http/validate.ts";
import { fillCall } from "./messages.ts";
import { knownModels, reachModel } from "./model.ts";
import { CALL_MS, callFrames } from "./run.ts";
import { CallBody } from "./schema.ts";
import { CallSpending } from "./spend.ts";

const doc = createDoc("Playground");

const Models = v.pipe(
  v.object({ models: v.array(v.object({ provider: v.string(), model: v.string(), is_available: v.boolean() })) }),
  v.title("PlaygroundModels"),
);

export const playgroundRoutes = new Hono<App>()
  .get("/playground/models", doc("List the models that the deployment reaches", Models), (c) =>
    c.json({ models: knownModels(c.env) }),
  )
  .post("/playground/stream", doc("Call a model once, and stream its answer", EVENTS), body(CallBody), async (c) => {
    const given = c.req.valid("json");
    const key = c.get("idempotency");
    if (key?.isRepeat) throw notKept(key);
    const principal = c.get("principal");
    const { workspaceId } = principal;
    const model = reachModel(c.env, given.model);
    const { call, prompt } = await fillCall(c, given);
    await limitPaid(c.env, principal);
    const id = uuidv7();
    const facts = { runId: id, workspaceId, model: model.name, provider: model.provider };
    const user = principal.user?.identity;
    const spending = await CallSpending.begin(c.env, { ...facts, user });
    const detail = { provider: model.provider, model: model.name, ...(prompt && { prompt: prompt.name }) };
    await audit(c, { action: "playground.called", targetId: id, detail });
    const more = { ...(prompt && { prompt }), ...(key && { keep: key.keepStream }) };
    const started = { env: c.env, id, workspaceId, model, call, spending, ...more };
    return sseResponse(callFrames(started, (work) => c.executionCtx.waitUntil(work)));
  });

/** After the longest call, milliseconds. */
const SPARE_MS = 60_000;

/** The answer to a request whose Idempotency-Key was used before, and has no stream that is kept. The model is not called twice. */
function notKept({ epoch }: IdempotencyKey): Problem {
  if (Date.now() < epoch + CALL_MS + SPARE_MS) {
    const headers = { "retry-after": "1" };
    return new Problem(409, "The first request with this Idempotency-Key is still being answered.", { headers });
  }
  return new Problem(
    409,
    "The answer to the first request with this Idempotency-Key was too long to be kept, or was cut off. Use a new key for another call.",
  );
}
