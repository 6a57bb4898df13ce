/** What sums a project up, on the product and on the model: statistics, series, threads, feedback. */
import { type Condition, type FilterKind, readsContents, selectedBy } from "./filters.ts";
import { computeFigures, groupRuns, computeStats, groupThreads } from "./figures.ts";
import { showValue, toText } from "./json.ts";
import type { Project } from "./model.ts";
import { DAY, toIso } from "./programs.ts";
import { toMicros, type Run } from "./run.ts";
import { pickFeedback, type Json, near, expectSame, pickMembers } from "./same.ts";
import type { Weir } from "./weir.ts";

export class Sums {
  constructor(
    private readonly weir: Weir,
    private readonly project: Project,
  ) {}

  get #session(): string {
    return this.weir.id(this.project.name);
  }

  async stats(condition?: Condition, kind: FilterKind = "filter"): Promise<void> {
    const runs = condition ? selectedBy(condition, kind, this.project) : this.project.runs;
    const wanted = computeStats(this.project, runs);
    const body = { session: [this.#session], ...(condition && { [kind]: condition.text }) };
    if (this.weir.isSealed && condition && readsContents(condition.text))
      return this.weir.expectRefusal("/runs/stats", body);
    const real = (await this.weir.call("/runs/stats", { body })) as Json;
    const last = real.last_run_start_time;
    const seen = pickMembers(real, wanted);
    expectSame(
      `stats ${kind} ${condition?.text.slice(0, 300) ?? ""}`,
      {
        ...seen,
        latency_p50: near(real.latency_p50, wanted.latency_p50),
        latency_p99: near(real.latency_p99, wanted.latency_p99),
        last_run_start_time: typeof last === "string" ? toMicros(last) : null,
        feedback: pickFeedback(real.feedback_stats),
      },
      wanted,
    );
  }

  /** Series by day, and their groups. */
  async series(by: "name" | "status" | "run_type" | "tag"): Promise<void> {
    const { runs } = this.project;
    const [newest, oldest] = [runs[0]?.start ?? 0, runs.at(-1)?.start ?? 0];
    const from = Math.floor(oldest / DAY) * DAY;
    const body = {
      session: [this.#session],
      interval: "day",
      by,
      max_groups: 100,
      start_time: toIso(from),
      end_time: toIso(Math.max(from, Math.floor(newest / DAY) * DAY) + DAY),
    };
    const real = (await this.weir.call("/api/v1/runs/stats/series", { body })) as {
      total: Json;
      groups: (Json & { key: string })[];
      buckets: (Json & { start_time: string })[];
    };
    // A group has what its own runs have used.
    const pickShown = (own: readonly Run[], stats: Json) => {
      const wanted = computeFigures(own, own);
      const seen = Object.fromEntries(
        Object.entries(wanted).map(([key, value]) => [
          key,
          key.startsWith("latency") ? near(stats[key], value) : (stats[key] ?? null),
        ]),
      );
      return [seen, wanted] as const;
    };
    expectSame("series in total", ...pickShown(runs, real.total));
    const groups = groupRuns(runs, by);
    const keys = real.groups.map(({ key }) => key);
    expectSame(`series by ${by}`, keys.toSorted(), [...groups.keys()].toSorted());
    for (const [key, own] of groups) {
      const group = real.groups.find((one) => one.key === key) ?? {};
      expectSame(`series by ${by} ${key.slice(0, 40)}`, ...pickShown(own, group));
    }
    for (const bucket of real.buckets) {
      const day = bucket.start_time.slice(0, 10);
      expectSame(
        `series on ${day}`,
        ...pickShown(
          runs.filter((run) => run.day === day),
          bucket,
        ),
      );
    }
  }

  async threads(): Promise<void> {
    const wanted = groupThreads(this.project.runs);
    const body = { session_id: this.#session, group_by: "conversation" };
    const { groups, total } = (await this.weir.call("/runs/group", { body })) as { groups: Json[]; total: number };
    if (total !== wanted.length) throw new Error(`${total} threads, must be ${wanted.length}`);
    for (const thread of wanted) {
      const real = groups.find((one) => one.thread_id === thread.thread_id) ?? {};
      expectSame(
        `thread ${thread.thread_id}`,
        {
          thread_id: real.thread_id ?? null,
          count: real.count ?? null,
          max_start_time: toMicros(showValue(real.max_start_time ?? "")),
          min_start_time: toMicros(showValue(real.min_start_time ?? "")),
          latency_p50: near(real.latency_p50, thread.latency_p50),
        },
        thread,
      );
    }
  }

  async feedback(): Promise<void> {
    const real = (await this.weir.call(`/feedback?session=${this.#session}&limit=100`)) as Json[];
    const pickShown = (list: Json[]) => list.toSorted((a, b) => (toText(a) < toText(b) ? -1 : 1));
    expectSame(
      "feedback",
      pickShown(real.map(({ id, run_id, key, score, value }) => ({ id, run_id, key, score, value }) as Json)),
      pickShown(
        this.project.feedback.map(({ id, runId, key, score, value }) => ({ id, run_id: runId, key, score, value })),
      ),
    );
  }
}
