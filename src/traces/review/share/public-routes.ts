/** The content of a shared link. These routes need no key: the token in the path is the credential. */
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { openSealedBlobs } from "../../../access/encryption/blobs.ts";
import * as v from "valibot";
import { limitLink } from "../../../access/auth/limits.ts";
import { database } from "../../../db/client.ts";
import { limitResponse } from "../../../lib/bytes.ts";
import { createDoc } from "../../../http/route.ts";
import { choosing, many, optional, pagingQuery, Uuid } from "../../../http/shapes.ts";
import { serverAddress, type App } from "../../../http/context.ts";
import { Problem } from "../../../lib/problem.ts";
import { body, param, query } from "../../../http/validate.ts";
import { Example, examplesResponse, chooseFields } from "../examples/row.ts";
import { listExamples, measureExamples } from "../examples/store.ts";
import { Dataset, toWireDatasets } from "../datasets/row.ts";
import { findDataset } from "../datasets/store.ts";
import { readCursor, runsResponse, writeCursor } from "../../query/responses.ts";
import { readContext, NAMES_V1, payloadNames, runV1, runV2, valuePayloads, Run, SelectedRun } from "../../query/row.ts";
import { eachRun, findRuns, PAGE_BYTES, type RunFindPage, selectPayloads } from "../../query/find.ts";
import { parseSelects } from "../../query/routes-v2.ts";
import type { LargeField, QueriedRun, RunPosition } from "../../types.ts";
import type { Json } from "../../../lib/json.ts";
import { requireShare, type ShareRow } from "./store.ts";

const doc = createDoc("Shares");

const RunsOfShare = v.object({ runs: v.array(Run), cursors: v.object({ next: v.nullable(v.string()) }) });

const Token = v.object({ share_token: Uuid });
const RunOfToken = v.object({ share_token: Uuid, run_id: Uuid });
const list = v.union([v.string(), v.array(v.string())]);
const ListRuns = choosing({ id: many(Uuid), ...pagingQuery(100) });
const ListShared = choosing({ id: many(Uuid), ...pagingQuery(1000) });
const ReadRun = v.object({ selects: v.optional(list), "selects[]": v.optional(list) });
const Cursor = optional(v.string());
const QueryRuns = choosing({ selects: optional(v.pipe(v.array(v.string()), v.maxLength(200))), cursor: Cursor });
const QueryRunsV1 = choosing({ id: optional(v.pipe(v.array(Uuid), v.maxLength(1000))), cursor: Cursor });

/** The most runs of a shared trace in one answer. */
const MAX_RUNS = 1_000;

const limited: MiddlewareHandler<App> = async (c, next) => {
  await limitLink(c);
  await next();
};

export const publicShares = new Hono<App>()
  .use("/public/*", limited)
  .get("/public/:share_token/r", doc("The address of a shared trace"), param(Token), (c) =>
    c.redirect(`/public/${c.req.valid("param").share_token}/runs`),
  )
  .get("/public/:share_token/d", doc("The address of a shared dataset"), param(Token), (c) =>
    c.redirect(`/public/${c.req.valid("param").share_token}/datasets`),
  )
  .get("/public/:share_token/run", doc("The root run of a shared trace", Run), param(Token), async (c) => {
    const share = await requireShare(c.env, c.req.valid("param").share_token, "run");
    return sharedRun(c, share, share.targetId);
  })
  .get("/public/:share_token/run/:run_id", doc("A run of a shared trace", Run), param(RunOfToken), async (c) => {
    const { share_token, run_id } = c.req.valid("param");
    return sharedRun(c, await requireShare(c.env, share_token, "run"), run_id);
  })
  .post(
    "/public/:share_token/runs/query",
    doc("The runs of a shared trace", RunsOfShare),
    param(Token),
    body(QueryRunsV1),
    async (c) => {
      const share = await requireShare(c.env, c.req.valid("param").share_token, "run");
      const { id: ids, cursor } = c.req.valid("json");
      const find = { ids, after: readCursor(cursor), limit: MAX_RUNS, payloads: selectPayloads(NAMES_V1) };
      const { runs, next } = await sharedPage(c.env, share, find);
      const context = await readContext(c.env, serverAddress(c), share.workspaceId, runs);
      return runsResponse(openSealedBlobs(c.env), {
        runs: runs.map((run) => runV1(run, undefined, context)),
        cursors: { next: writeCursor(next) },
      });
    },
  )
  .get(
    "/public/:share_token/runs",
    doc("The runs of a shared trace", v.array(Run)),
    param(Token),
    query(ListRuns),
    async (c) => {
      const share = await requireShare(c.env, c.req.valid("param").share_token, "run");
      const { id: ids, limit, offset } = c.req.valid("query");
      const find = { ids, after: null, limit, payloads: selectPayloads(NAMES_V1) };
      const runs = await sharedRuns(c.env, share, offset, find);
      const context = await readContext(c.env, serverAddress(c), share.workspaceId, runs);
      return runsResponse(
        openSealedBlobs(c.env),
        runs.map((run) => runV1(run, undefined, context)),
      );
    },
  )
  .get("/public/:share_token/datasets", doc("A shared dataset", Dataset), param(Token), async (c) => {
    const { workspaceId, targetId } = await requireShare(c.env, c.req.valid("param").share_token, "dataset");
    const db = database(c.env.DB);
    const row = await findDataset(db, workspaceId, targetId);
    if (!row) throw new Problem(404, "Dataset not found.");
    const [dataset] = await toWireDatasets(db, workspaceId, [row]);
    return c.json(dataset);
  })
  .get(
    "/public/:share_token/examples",
    doc("The examples of a shared dataset", v.array(Example)),
    param(Token),
    query(ListShared),
    async (c) => {
      const { workspaceId, targetId } = await requireShare(c.env, c.req.valid("param").share_token, "dataset");
      const wanted = { ...c.req.valid("query"), dataset: targetId };
      const db = database(c.env.DB);
      await limitResponse(wanted.limit, () => measureExamples(db, workspaceId, wanted));
      const rows = await listExamples(db, workspaceId, wanted);
      return examplesResponse(c.env, serverAddress(c), rows, chooseFields(["outputs", "metadata", "attachment_urls"]));
    },
  );

export const publicSharesV2 = new Hono<App>()
  .use("/public/*", limited)
  .get(
    "/public/:share_token/run/:run_id",
    doc("A run of a shared trace", SelectedRun),
    param(RunOfToken),
    query(ReadRun),
    async (c) => {
      const { share_token, run_id } = c.req.valid("param");
      const given = c.req.valid("query");
      const share = await requireShare(c.env, share_token, "run");
      const selects = parseSelects(given.selects ?? given["selects[]"]);
      const payloads = selectPayloads(payloadNames(selects));
      const find = { ids: [run_id], after: null, limit: 1, payloads, values: valuePayloads(selects) };
      const [run] = (await sharedPage(c.env, share, find)).runs;
      if (!run) throw new Problem(404, "Run not found.");
      return runsResponse(
        openSealedBlobs(c.env),
        runV2(run, selects, await readContext(c.env, serverAddress(c), share.workspaceId, [run])),
      );
    },
  )
  .post(
    "/public/:share_token/runs/query",
    doc(
      "The runs of a shared trace",
      v.object({ items: v.array(SelectedRun), next_cursor: v.nullable(v.string()), has_more: v.boolean() }),
    ),
    param(Token),
    body(QueryRuns),
    async (c) => {
      const share = await requireShare(c.env, c.req.valid("param").share_token, "run");
      const selects = parseSelects(c.req.valid("json").selects);
      const payloads = selectPayloads(payloadNames(selects));
      const after = readCursor(c.req.valid("json").cursor);
      const find = { after, limit: MAX_RUNS, payloads, values: valuePayloads(selects) };
      const { runs, next } = await sharedPage(c.env, share, find);
      const context = await readContext(c.env, serverAddress(c), share.workspaceId, runs);
      return runsResponse(openSealedBlobs(c.env), {
        items: runs.map((run) => runV2(run, selects, context)),
        next_cursor: writeCursor(next),
        has_more: next !== null,
      });
    },
  );

async function sharedRun(c: Context<App>, share: ShareRow, id: string): Promise<Response> {
  const find = { ids: [id], after: null, limit: 1, payloads: selectPayloads(NAMES_V1) };
  const [run] = (await sharedPage(c.env, share, find)).runs;
  if (!run) throw new Problem(404, "Run not found.");
  return runsResponse(
    openSealedBlobs(c.env),
    runV1(run, undefined, await readContext(c.env, serverAddress(c), share.workspaceId, [run])),
  );
}

interface SharedRunQuery {
  ids?: string[];
  after: RunPosition | null;
  limit: number;
  payloads: LargeField[];
  values?: LargeField[];
}

/** A page of the runs of a shared trace, in the order of their start. */
async function sharedPage(env: Env, share: ShareRow, { ids, after, ...find }: SharedRunQuery): Promise<RunFindPage> {
  const selection = { traceId: share.targetId, ids };
  const wanted = { projectIds: [share.projectId ?? ""], selection, order: "asc" as const, after, ...find };
  const { runs, next } = await findRuns(env, share.workspaceId, wanted);
  return { runs: runs.map(withoutWords), next };
}

/** The runs of a shared trace behind the first `offset` of them. @throws Problem 413 when they are larger than a page. */
async function sharedRuns(env: Env, share: ShareRow, offset: number, find: SharedRunQuery): Promise<QueriedRun[]> {
  const runs: QueriedRun[] = [];
  let [passed, bytes] = [0, 0];
  const selection = { traceId: share.targetId, ids: find.ids };
  const wanted = { ...find, projectIds: [share.projectId ?? ""], selection, order: "asc" as const };
  for await (const run of eachRun(env, share.workspaceId, wanted)) {
    if (passed++ < offset) continue;
    runs.push(withoutWords(run));
    for (const name of find.payloads) bytes += run[name]?.length ?? 0;
    if (bytes > PAGE_BYTES) throw new Problem(413, "The runs are too large for one answer. Use a smaller limit.");
    if (runs.length === find.limit) break;
  }
  return runs;
}

/** The run without what reviewers wrote about it: its feedback as numbers only. */
function withoutWords(run: QueriedRun): QueriedRun {
  if (run.feedback_stats === null) return run;
  const stats = JSON.parse(run.feedback_stats) as Record<string, Json>;
  for (const sum of Object.values(stats)) {
    delete sum.comments;
    delete sum.values;
  }
  return { ...run, feedback_stats: JSON.stringify(stats) };
}
