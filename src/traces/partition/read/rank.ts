/**
 * The runs with the greatest or the least figures. No index has them: the blocks are read by their bounds, the best one first, until no
 * other can have a better run.
 */
import { compareFigures, compareRanked, type RankedRun, type RankRequest, type RunSelection } from "../../rpc.ts";
import type { PartitionIdentity } from "../../types.ts";
import { narrowByBlock, type BlockSource, selectSource, readBlockCondition } from "../blocks/candidates.ts";
import { BOUNDED, readBounds, runsOfBlocks } from "../blocks/blocks.ts";
import { isReadByStart, type Statement } from "./read.ts";
import { selectionCondition } from "./selection.ts";

/** The blocks that one statement reads. */
const AT_ONCE = 4;

export function rankInPartition(
  sql: SqlStorage,
  identity: PartitionIdentity,
  request: RunSelection & RankRequest,
): RankedRun[] {
  const source = selectSource(sql, readBlockCondition(request));
  const whole = selectRanked(sql, identity, request, source);
  // The traces that a tree filter allows are found by a query of their own: once, not for each part.
  const isWhole = request.treeFilter !== undefined || (!source.isSmall && !isReadByStart(sql, whole));
  if (isWhole) return readRanked(sql, whole);
  const blocks = orderBlocks(sql, narrowByBlock(sql, source).blocks, request);
  let best: RankedRun[] = [];
  for (let at = 0; at < blocks.length; at += AT_ONCE) {
    const next = blocks.slice(at, at + AT_ONCE);
    const last = best[request.limit - 1];
    if (last && next[0] && compareFigures(request.order, next[0].figure, last.figure) > 0) break;
    const among = {
      ...source,
      from: runsOfBlocks(),
      sql: "1",
      values: [JSON.stringify(next.map(({ block }) => block))],
    };
    const found = readRanked(sql, selectRanked(sql, identity, request, among));
    best = [...best, ...found].sort((a, b) => compareRanked(request.order, a, b)).slice(0, request.limit);
  }
  return best;
}

/** The blocks with runs of the window, each with the best figure that it can have. */
function orderBlocks(
  sql: SqlStorage,
  blocks: number[],
  { by, order, startTime = 0, endTime = Infinity }: RunSelection & RankRequest,
): { block: number; figure: number | null }[] {
  const unknown = order === "asc" ? -Infinity : Infinity;
  return readBounds(sql, blocks)
    .flatMap(({ block, bounds }) => {
      const [first, last] = bounds?.columns.start_time ?? [];
      if (typeof first === "number" && typeof last === "number" && (last < startTime || first >= endTime)) return [];
      const [least, greatest] = bounds?.columns[by] ?? [unknown, unknown];
      return [{ block, figure: (order === "asc" ? least : greatest) as number | null }];
    })
    .sort((a, b) => compareFigures(order, a.figure, b.figure) || b.block - a.block);
}

function selectRanked(
  sql: SqlStorage,
  identity: PartitionIdentity,
  request: RunSelection & RankRequest,
  source: BlockSource,
): Statement {
  const { by, order, after, limit } = request;
  const condition = selectionCondition(sql, identity, request);
  const figure = BOUNDED[by];
  const behind = order === "asc" ? ">" : "<";
  const rest = !after
    ? { sql: "1", values: [] }
    : after.figure === null
      ? { sql: `${figure} IS NULL AND r.id ${behind} ?`, values: [after.id] }
      : { sql: `(${figure} IS NULL OR (${figure}, r.id) ${behind} (?, ?))`, values: [after.figure, after.id] };
  return {
    text: `SELECT r.id, ${figure} AS figure, r.bytes + ifnull(octet_length(r.feedback_stats), 0) AS bytes
      FROM ${source.from} WHERE ${source.sql} AND ${condition.sql} AND ${rest.sql}
      ORDER BY figure IS NULL, figure ${order}, r.id ${order} LIMIT ?`,
    values: [...source.values, ...condition.values, ...rest.values, limit],
  };
}

const readRanked = (sql: SqlStorage, { text, values }: Statement): RankedRun[] =>
  sql.exec<{ id: string; figure: number | null; bytes: number }>(text, ...values).toArray();
