/** Sharing a trace or a dataset by a link: create, read and delete the link. */
import { Id, ResultMessage, choosing, optional, unread, Uuid } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../../access/audit/record.ts";
import { database } from "../../../db/client.ts";
import { createDoc, NOTHING } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { body, param } from "../../../http/validate.ts";
import { existingDataset } from "../datasets/store.ts";
import { findRuns } from "../../query/find.ts";
import { Time } from "../../time.ts";
import { knownShare, type LinkEnd, Share, createShare, type ShareTarget, deleteShare } from "./store.ts";

const doc = createDoc("Shares");

const RunShare = v.object({ run_id: Id, ...Share.entries });
const DatasetShare = v.object({ dataset_id: Id, ...Share.entries });

const RunId = v.object({ run_id: Uuid });
const DatasetId = v.object({ dataset_id: Uuid });
/** `expires_at` is an own field: null, as without it at first, for a link without an end. */
const end = { expires_at: v.nullish(Time) };
const ShareRun = choosing({
  session_id: optional(Uuid),
  // The path names the run, and it says which its trace is. The server makes the token: one that a client chooses can be weak.
  share_token: unread,
  run_id: unread,
  trace_id: unread,
  ...end,
});
const ShareDataset = choosing({ dataset_id: unread, ...end });

/** When the link ends, milliseconds. @throws Problem 422 when that is in the past. */
function readLinkEnd({ expires_at: end }: { expires_at?: number | null | undefined }): LinkEnd {
  if (typeof end !== "number") return end;
  const expiresAt = Math.floor(end / 1000);
  if (expiresAt <= Date.now()) throw new Problem(422, "Invalid expires_at: it is in the past.");
  return expiresAt;
}

/** The target's link, with an entry in the audit trail. */
async function share(c: Context<App>, target: ShareTarget, end: LinkEnd): Promise<Share> {
  const detail = {
    ...projectQuery(target),
    ...(typeof end === "number" && { expires_at: new Date(end).toISOString() }),
  };
  const action = target.kind === "run" ? "trace.shared" : "dataset.shared";
  await audit(c, { action, targetId: target.targetId, detail });
  return createShare(c.env, target, end);
}

async function unshare(c: Context<App>, target: ShareTarget): Promise<void> {
  const action = target.kind === "run" ? "trace.unshared" : "dataset.unshared";
  await audit(c, { action, targetId: target.targetId, detail: projectQuery(target) });
  await deleteShare(database(c.env.DB), target);
}

const projectQuery = ({ projectId }: ShareTarget) => (projectId === null ? {} : { project_id: projectId });

export const shares = new Hono<App>()
  .put("/runs/:run_id/share", doc("Share the trace of a run", RunShare), param(RunId), body(ShareRun), async (c) => {
    const { run_id } = c.req.valid("param");
    const given = c.req.valid("json");
    const target = await findTrace(c, run_id, given.session_id);
    return c.json({ run_id, ...(await share(c, target, readLinkEnd(given))) });
  })
  .get("/runs/:run_id/share", doc("Read the link of a shared trace", v.nullable(RunShare)), param(RunId), async (c) => {
    const { run_id } = c.req.valid("param");
    const share = await knownShare(c.env, await findTrace(c, run_id));
    return c.json(share ? { run_id, ...share } : null);
  })
  .delete("/runs/:run_id/share", doc("Stop sharing the trace of a run", ResultMessage), param(RunId), async (c) => {
    await unshare(c, await findTrace(c, c.req.valid("param").run_id));
    return c.json({ message: "The trace is no longer shared" });
  })
  .put(
    "/datasets/:dataset_id/share",
    doc("Share a dataset", DatasetShare),
    param(DatasetId),
    body(ShareDataset),
    async (c) => {
      const target = await requireDataset(c, c.req.valid("param").dataset_id);
      return c.json({ dataset_id: target.targetId, ...(await share(c, target, readLinkEnd(c.req.valid("json")))) });
    },
  )
  .get(
    "/datasets/:dataset_id/share",
    doc("Read the link of a shared dataset", v.nullable(DatasetShare)),
    param(DatasetId),
    async (c) => {
      const target = await requireDataset(c, c.req.valid("param").dataset_id);
      const share = await knownShare(c.env, target);
      return c.json(share ? { dataset_id: target.targetId, ...share } : null);
    },
  )
  .delete("/datasets/:dataset_id/share", doc("Stop sharing a dataset", ResultMessage), param(DatasetId), async (c) => {
    await unshare(c, await requireDataset(c, c.req.valid("param").dataset_id));
    return c.json({ message: "The dataset is no longer shared" });
  });

export const sharesV2 = new Hono<App>()
  .post("/runs/:run_id/share", doc("Share the trace of a run", Share), param(RunId), body(ShareRun), async (c) => {
    const given = c.req.valid("json");
    const target = await findTrace(c, c.req.valid("param").run_id, given.session_id);
    return c.json(await share(c, target, readLinkEnd(given)));
  })
  .delete("/runs/:run_id/share", doc("Stop sharing the trace of a run", NOTHING), param(RunId), async (c) => {
    await unshare(c, await findTrace(c, c.req.valid("param").run_id));
    return c.body(null, 204);
  });

/** The trace of a run, in this project if it is given: two projects can have a run of one id. @throws Problem 404 */
async function findTrace(c: Context<App>, id: string, projectId?: string) {
  const { workspaceId } = c.get("principal");
  const find = { selection: { ids: [id] }, order: "desc" as const, after: null, limit: 1, payloads: [] };
  const [run] = (await findRuns(c.env, workspaceId, { ...find, projectIds: projectId ? [projectId] : [] })).runs;
  if (!run) throw new Problem(404, "Run not found.");
  return { workspaceId, kind: "run" as const, targetId: run.trace_id, projectId: run.session_id };
}

async function requireDataset(c: Context<App>, id: string) {
  const { workspaceId } = await existingDataset(c, id);
  return { workspaceId, kind: "dataset" as const, targetId: id, projectId: null };
}
