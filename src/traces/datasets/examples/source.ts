/** Inputs, outputs and attachments that an example takes over from a run. */
import { requirePermission } from "../../../access/auth/roles.ts";
import { Problem } from "../../../lib/problem.ts";
import { openBlobs } from "../../../access/encryption/blobs.ts";
import { isObject, parseJson } from "../../../lib/json.ts";
import type { Principal } from "../../../http/principal.ts";
import { attachmentKey } from "../../ingest/payloads.ts";
import { findRuns } from "../../query/find.ts";
import { runBlobPrefix } from "../../stub.ts";
import type { QueriedRun } from "../../types.ts";
import type { NewAttachment } from "../../review/examples/bodies.ts";
import type { GivenExample } from "../../review/examples/input.ts";

export interface SourceRun {
  inputs?: Uint8Array;
  outputs?: Uint8Array;
  attachments: NewAttachment[];
}

/** The most examples of a request that take over from runs, and the most bytes that they take. */
const MOST = 100;
const MOST_BYTES = 20 * 1024 * 1024;

const takesOver = ({ head }: GivenExample) =>
  head.use_source_run_io === true || (head.use_source_run_attachments?.length ?? 0) > 0;

/** @throws Problem 403 when an example takes over from a run, and the caller may not read runs. */
export function checkSources(principal: Principal, given: GivenExample[]): void {
  if (given.some(takesOver)) requirePermission(principal, "traces.read");
}

/**
 * What the examples take over, by the id of the run.
 * @throws Problem 404 when a run is not found, 413 when too much is taken over.
 */
export async function sourceRuns(
  env: Env,
  workspaceId: string,
  given: GivenExample[],
): Promise<Map<string, SourceRun>> {
  const taking = given.filter(takesOver);
  const ids = [...new Set(taking.flatMap(({ head }) => head.source_run_id ?? []))];
  if (taking.length === 0) return new Map();
  if (taking.length > MOST) throw new Problem(413, `At most ${MOST} examples of a request take over from runs.`);
  if (taking.some(({ head }) => !head.source_run_id)) {
    throw new Problem(422, "Invalid example: source_run_id is required to take over from a run.");
  }
  const { runs } = await findRuns(env, workspaceId, {
    projectIds: [],
    selection: { ids },
    order: "desc",
    after: null,
    limit: MOST,
    payloads: ["inputs", "outputs"],
    values: ["inputs", "outputs"],
  });
  const sources = new Map<string, SourceRun>();
  let bytes = 0;
  for (const { head } of taking) {
    const run = runs.find(({ id }) => id === head.source_run_id);
    if (!run) throw new Problem(404, `Run ${head.source_run_id ?? ""} not found.`);
    const source = await takeRun(env, run, head.use_source_run_io === true, head.use_source_run_attachments ?? []);
    bytes += (source.inputs?.byteLength ?? 0) + (source.outputs?.byteLength ?? 0);
    for (const { data } of source.attachments) bytes += data.byteLength;
    if (bytes > MOST_BYTES) throw new Problem(413, `A request takes over at most ${MOST_BYTES} bytes from runs.`);
    sources.set(run.id, source);
  }
  return sources;
}

async function takeRun(env: Env, run: QueriedRun, io: boolean, names: string[]): Promise<SourceRun> {
  const attachments: NewAttachment[] = [];
  for (const name of names) {
    const known = run.attachments.find((attachment) => attachment.name === name);
    const object = known && (await openBlobs(env).get(attachmentKey(runBlobPrefix(run), run.id, name)));
    if (!known || !object) throw new Problem(404, "The run has no attachment of one of these names.");
    attachments.push({ name, type: known.type, data: new Uint8Array(await object.arrayBuffer()) });
  }
  return { attachments, ...(io && { inputs: objectText(run.inputs), outputs: objectText(run.outputs) }) };
}

/** Bodies of examples are objects. Another value becomes a member, as in the SDKs. */
function objectText(json: string | null): Uint8Array | undefined {
  if (json === null) return undefined;
  return Buffer.from(isObject(parseJson(json)) ? json : `{"output":${json}}`);
}
