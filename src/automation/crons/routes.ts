/** `/runs/crons` and `/threads/{id}/runs/crons`: runs that start by the clock. */
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../../access/audit/record.ts";
import { requirePermission } from "../../access/auth/roles.ts";
import { toAssistantId } from "../../agents/assistants/defaults.ts";
import { resolveAssistant } from "../../agents/assistants/store.ts";
import { database } from "../../db/client.ts";
import { CHANGED, untilUnchanged } from "../../db/writes.ts";
import { Count, selectableList, cutPage, selectFields } from "../../http/shapes.ts";
import { NOTHING, createDoc } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import { type App, newOrEarlier } from "../../http/context.ts";
import { body, param } from "../../http/validate.ts";
import { readWebhook } from "../../deliveries/receiver.ts";
import { threadStub } from "../../threads/remote.ts";
import { Cron, Firing, applyCronPatch, createCron, toWireCron, toWireFiring } from "./row.ts";
import { CountCrons, CreateCron, CronPath, ListFirings, SearchCrons, ThreadPath, UpdateCron } from "./schema.ts";
import {
  openCron,
  openCrons,
  sealCron,
  MAX_CRONS,
  countCrons,
  deleteCron,
  findCron,
  findCronMetadata,
  insertCron,
  latestFirings,
  searchCrons,
  updateCron,
} from "./store.ts";
import { sealCronUser, threadsFor } from "./fire.ts";
import { threadName } from "../../threads/types.ts";
import { MAX_THREADS_PER_REQUEST, settleEach } from "../../threads/limits.ts";

const doc = createDoc("Crons");
const notFound = () => new Problem(404, "Cron not found.");

/** Who makes or changes a cron decides what it runs. @throws Problem 403 without `runs.create` */
const requireRuns = (c: Context<App>) => requirePermission(c.get("principal"), "runs.create");

async function create(
  c: Context<App>,
  input: v.InferOutput<typeof CreateCron>,
  threadId: string | null,
): Promise<Response> {
  requireRuns(c);
  const { workspaceId, user } = c.get("principal");
  const db = database(c.env.DB);
  const assistant = await resolveAssistant(db, workspaceId, input.assistant_id);
  if (!assistant) throw new Problem(404, "Assistant not found.");
  if (threadId !== null && !(await threadStub(c.env, workspaceId, threadId).get())) {
    throw new Problem(404, `${threadName(threadId)} not found.`);
  }
  const webhook = readWebhook(c, input.webhook);
  const { id, earlier } = await newOrEarlier(c, (one) => findCron(db, workspaceId, one));
  if (earlier) return c.json(toWireCron(await openCron(c.env, earlier)));
  const cron = createCron(
    { id, workspaceId },
    { ...input, ...webhook, assistant_id: assistant.assistant_id },
    threadId,
  );
  const row = { ...cron, ...(await sealCronUser(c.env, cron, user)) };
  if (!(await insertCron(db, await sealCron(c.env, row))))
    throw new Problem(409, `A workspace has at most ${MAX_CRONS} crons. Delete one first.`);
  const detail = {
    assistant_id: row.assistantId,
    schedule: row.schedule,
    ...(threadId !== null && { thread_id: threadId }),
  };
  await audit(c, { action: "cron.created", targetId: id, detail });
  return c.json(toWireCron(row));
}

export const threadCrons = new Hono<App>().post(
  "/:thread_id/runs/crons",
  doc("Create a cron on a thread", Cron),
  param(ThreadPath),
  body(CreateCron, { exact: true }),
  (c) => create(c, c.req.valid("json"), c.req.valid("param").thread_id),
);

export const crons = new Hono<App>()
  .post(
    "/",
    doc("Create a cron whose firings each get a thread of their own", Cron),
    body(CreateCron, { exact: true }),
    (c) => create(c, c.req.valid("json"), null),
  )
  .post("/search", doc("Search crons", selectableList(Cron)), body(SearchCrons, { exact: true }), async (c) => {
    const {
      limit = 10,
      offset = 0,
      sort_by,
      sort_order,
      select,
      assistant_id,
      thread_id,
      ...filter
    } = c.req.valid("json");
    const { workspaceId } = c.get("principal");
    const rows = await searchCrons(database(c.env.DB), workspaceId, {
      ...filter,
      assistantId: assistant_id && toAssistantId(assistant_id),
      threadId: thread_id,
      limit,
      offset,
      sortBy: sort_by ?? "created_at",
      sortOrder: sort_order ?? "desc",
    });
    const { items, headers } = cutPage((await openCrons(c.env, workspaceId, rows)).map(toWireCron), limit, offset);
    return c.json(
      items.map((item) => selectFields(item, select)),
      200,
      headers,
    );
  })
  .post("/count", doc("Count crons", Count), body(CountCrons, { exact: true }), async (c) => {
    const { assistant_id, thread_id, metadata } = c.req.valid("json");
    const filter = { assistantId: assistant_id && toAssistantId(assistant_id), threadId: thread_id, metadata };
    return c.json(await countCrons(database(c.env.DB), c.get("principal").workspaceId, filter));
  })
  .post(
    "/firings",
    doc("List the latest firings of crons, newest first", v.array(Firing)),
    body(ListFirings),
    async (c) => {
      const { cron_ids, limit = 10 } = c.req.valid("json");
      const rows = await latestFirings(database(c.env.DB), c.get("principal").workspaceId, cron_ids, limit);
      return c.json(await readOutcomes(c.env, c.get("principal").workspaceId, rows.map(toWireFiring)));
    },
  )
  .get("/:cron_id", doc("Get a cron", Cron), param(CronPath), async (c) => {
    const row = await findCron(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("param").cron_id);
    if (!row) throw notFound();
    return c.json(toWireCron(await openCron(c.env, row)));
  })
  .patch(
    "/:cron_id",
    doc("Change a cron; what is left out stays", Cron),
    param(CronPath),
    body(UpdateCron, { exact: true }),
    async (c) => {
      requireRuns(c);
      const { cron_id } = c.req.valid("param");
      const { workspaceId, user } = c.get("principal");
      const db = database(c.env.DB);
      if (Object.keys(c.req.valid("json")).length === 0) throw new Problem(400, "Name at least one field to change.");
      const change = { ...c.req.valid("json"), ...readWebhook(c, c.req.valid("json").webhook) };
      // A user who changes a cron cannot make it act as another user: from then on it acts as the user who changed it.
      const owner = user && (await sealCronUser(c.env, { id: cron_id, workspaceId }, user));
      const after = await untilUnchanged(async () => {
        const row = await findCron(db, workspaceId, cron_id);
        if (!row) throw notFound();
        const next = { ...applyCronPatch(await openCron(c.env, row), change), ...owner };
        return (await updateCron(db, row, await sealCron(c.env, next))) ?? CHANGED;
      });
      await audit(c, {
        action: "cron.updated",
        targetId: cron_id,
        detail: { fields: Object.keys(c.req.valid("json")) },
      });
      return c.json(toWireCron(await openCron(c.env, after)));
    },
  )
  .delete("/:cron_id", doc("Delete a cron", NOTHING), param(CronPath), async (c) => {
    const { cron_id: targetId } = c.req.valid("param");
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    if (!(await findCronMetadata(db, workspaceId, targetId))) throw notFound();
    await audit(c, { action: "cron.deleted", targetId });
    const gone = await deleteCron(db, workspaceId, targetId);
    if (!gone) throw notFound();
    return c.body(null, 204);
  });

type WireFiring = ReturnType<typeof toWireFiring>;

/** The firings, those whose run has ended in the meantime with its outcome. */
async function readOutcomes(env: Env, workspaceId: string, firings: WireFiring[]): Promise<WireFiring[]> {
  const threads = threadsFor(env);
  const running = firings.filter(({ state }) => state === "running").slice(0, MAX_THREADS_PER_REQUEST);
  // Without the outcome of a thread that does not answer, its firing is as the ledger has it.
  const outcomes = await settleEach(running, async ({ thread_id: threadId, run_id: runId }) => {
    return [runId, await threads.outcome(workspaceId, { threadId, runId })] as const;
  });
  const ended = new Map(outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])));
  return firings.map((firing) => ({ ...firing, state: ended.get(firing.run_id) ?? firing.state }));
}
