/** The runs that are visible of a project, on the product and on the model. */
import { type Condition, type FilterKind, readsContents, selectedBy } from "./filters.ts";
import { feedbackFigures, computeFigures } from "./figures.ts";
import type { Value } from "./json.ts";
import type { Project } from "./model.ts";
import { DAY, toIso } from "./programs.ts";
import type { Run } from "./run.ts";
import { pickFeedback, type Json, expectSame, pickMembers } from "./same.ts";
import type { Weir } from "./weir.ts";

const PAGE = 5;
/** More runs than a query needs to read whole. */
const MANY = 200;
const NO_FILLER = 'neq(run_type, "tool")';

export class Sights {
  constructor(
    private readonly weir: Weir,
    private readonly project: Project,
  ) {}

  get #session(): string {
    return this.weir.id(this.project.name);
  }

  /** What a run looks like. */
  #modelRun(run: Run): Json {
    const given = Map.groupBy(this.project.listFeedback(run.id), ({ key }) => key);
    return {
      id: run.id,
      trace_id: run.traceId,
      parent_run_id: run.parentId,
      dotted_order: run.dotted,
      session_id: this.#session,
      name: run.name,
      run_type: run.runType,
      status: run.status,
      start_time: toIso(run.start),
      end_time: run.end === null ? null : toIso(run.end),
      inputs: run.inputs,
      outputs: run.outputs,
      extra: run.extra,
      error: run.error,
      tags: run.tags,
      thread_id: run.threadId,
      trace_tier: this.project.readTier(run),
      total_tokens: computeFigures([run], this.project.runs).total_tokens,
      feedback_stats: pickFeedback(
        Object.fromEntries([...given].map(([key, own]) => [key, feedbackFigures(own.map(({ score }) => score))])),
      ),
    };
  }

  /** All pages of a query. */
  async query(body: Json, limit = 100): Promise<Json[]> {
    const found: Json[] = [];
    let cursor: Value = null;
    do {
      const answer: Json = (await this.weir.call("/runs/query", {
        body: { session: [this.#session], limit, ...body, ...(cursor !== null && { cursor }) },
      })) as Json;
      found.push(...(answer.runs as Json[]));
      cursor = (answer.cursors as Json).next ?? null;
    } while (cursor !== null);
    return found;
  }

  async #ids(what: string, body: Json, wanted: readonly Run[], limit?: number): Promise<void> {
    const real = await this.query({ select: ["id"], ...body }, limit);
    expectSame(
      what,
      real.map(({ id }) => id ?? null),
      wanted.map(({ id }) => id),
    );
  }

  /** Every run as a whole, in both orders, in pages. */
  async runs(): Promise<void> {
    const small = this.project.runs.length <= MANY;
    if (small) await this.#ids("all runs, oldest first", { order: "asc" }, this.project.runs.toReversed(), PAGE);
    const wanted = this.project.runs.filter(({ runType }) => runType !== "tool");
    const real = await this.query({ filter: NO_FILLER }, PAGE);
    expectSame(
      "the runs, newest first",
      real.map(({ id }) => id ?? null),
      wanted.map(({ id }) => id),
    );
    for (const [n, run] of wanted.entries()) {
      const model = this.#modelRun(run);
      const seen = pickMembers(real[n] ?? {}, model);
      expectSame(`run ${run.id}`, { ...seen, feedback_stats: pickFeedback(seen.feedback_stats) }, model);
    }
  }

  /** The same within a window that begins after some roots. */
  async #sinceNewestDay(what: string, body: Json, wanted: readonly Run[]): Promise<void> {
    const from = Math.floor((this.project.runs[0]?.start ?? 0) / DAY) * DAY;
    const some = wanted.filter(({ start }) => start >= from);
    return this.#ids(`${what} since ${toIso(from)}`, { ...body, start_time: toIso(from) }, some);
  }

  async one(run: Run): Promise<void> {
    const model = this.#modelRun(run);
    const real = (await this.weir.call(`/runs/${run.id}?session_id=${this.#session}`)) as Json;
    const seen = pickMembers(real, model);
    expectSame(`GET run ${run.id}`, { ...seen, feedback_stats: pickFeedback(seen.feedback_stats) }, model);
    const below = this.project.runs.filter(({ id, path }) => id !== run.id && path.includes(run.id));
    expectSame(`children of ${run.id}`, ((real.child_run_ids ?? []) as string[]).toSorted(), childrenOnDay(run, below));
  }

  async selected(names: readonly string[]): Promise<void> {
    const real = await this.query({ select: [...names], filter: NO_FILLER });
    if (real.length !== this.project.runs.filter(({ runType }) => runType !== "tool").length)
      throw new Error(`select ${names.join(", ")}: ${real.length} runs`);
  }

  /** A trace by its id alone, and within its project. */
  async trace(traceId: string): Promise<void> {
    const wanted = this.project.runs.filter((run) => run.traceId === traceId);
    await this.#ids(`trace ${traceId}`, { trace: traceId }, wanted);
    const { items } = (await this.weir.call(`/api/v2/traces/${traceId}/runs?project_id=${this.#session}`)) as {
      items: { id: string }[];
    };
    expectSame(`tree of ${traceId}`, items.map(({ id }) => id).toSorted(), wanted.map(({ id }) => id).toSorted());
  }

  async filter(condition: Condition, kind: FilterKind = "filter"): Promise<void> {
    const { text } = condition;
    if (this.weir.isSealed && readsContents(text))
      return this.weir.expectRefusal("/runs/query", { session: [this.#session], [kind]: text });
    const wanted = selectedBy(condition, kind, this.project);
    const what = `${kind} ${text.slice(0, 300)}`;
    if (this.project.runs.length <= MANY) {
      await this.#ids(what, { [kind]: text }, wanted);
      return kind === "filter" ? undefined : this.#sinceNewestDay(what, { [kind]: text }, wanted);
    }
    // Without the fillers, whose pages take long.
    const own = kind === "filter" ? `and(${text}, ${NO_FILLER})` : NO_FILLER;
    await this.#ids(
      what,
      { [kind]: text, filter: own },
      wanted.filter(({ runType }) => runType !== "tool"),
    );
  }
}

/** `GET /runs/{id}` lists what is below a run on its day. */
const childrenOnDay = (run: Run, below: readonly Run[]) =>
  below.flatMap(({ id, day }) => (day === run.day ? [id] : [])).toSorted();
