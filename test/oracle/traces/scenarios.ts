/** Work of the trace platform that has several effects, with what must be true when it is done. */
import { newDestination, newExport, readExport, type World as ExportWorld } from "../../exports/support.ts";
import { findLeftovers } from "../../support/erased.ts";
import { advance } from "../../../src/exports/work.ts";
import { arrive, fill, makeProjects, share } from "./arrivals.ts";
import { compareLeft } from "./comparisons.ts";
import { toDay } from "./days.ts";
import type { Case } from "./dimensions.ts";
import { mustEnd, sameRows } from "./exported.ts";
import { engineAt, findWindow } from "./exports.ts";
import { checkErased, findDoomed, type Doomed } from "./removals.ts";
import { webhook } from "./webhook.ts";
import type { World } from "./world.ts";

export interface Scenario {
  name: string;
  given: Partial<Case>;
  /** What is there before. Gives the work and the check of it. */
  prepare: (world: World) => Promise<Prepared>;
}

export interface Prepared {
  /** Sends the request, or does what a queue or an alarm does. Throws when it fails; it is then carried out again. */
  work: () => Promise<void>;
  /** Notes what differs. */
  check: () => Promise<void>;
}

/** @throws Error for a status that the client answers with the same request */
async function expectAnswered(status: Promise<number>): Promise<void> {
  const real = await status;
  if (real >= 500) throw new Error(`the answer is ${real}`);
}

async function stage(world: World): Promise<void> {
  await makeProjects(world);
  await arrive(world);
  await share(world);
}

const removal = (name: Case["removal"]): Scenario => ({
  name: `deletion by ${name}`,
  given: { values: "long", times: "crossing midnight", feedback: "after", share: "own", removal: name },
  prepare: async (world) => {
    await stage(world);
    const doomed: Doomed = findDoomed(world);
    return {
      work: () => expectAnswered(doomed.ask()),
      check: async () => {
        doomed.apply();
        await checkErased(world, doomed);
        await compareLeft(world);
      },
    };
  },
});

const ingestion: Scenario = {
  name: "runs and feedback arrive",
  given: { values: "long", ingestion: "multipart", feedback: "after" },
  prepare: async (world) => {
    await makeProjects(world);
    const writes = world.programs.traces(1);
    const [first] = writes;
    world.project.take(writes);
    const feedback = { id: crypto.randomUUID(), runId: first?.id ?? "", key: "stars", score: 3, value: null };
    world.project.give(feedback);
    return {
      work: async () => {
        await world.weir.send(writes, "multipart", world.random);
        await expectAnswered(world.weir.give("main", feedback, JSON.parse(first?.fields.start_time ?? "") as string));
      },
      check: () => compareLeft(world),
    };
  },
};

/** Runs go to the second shard of their day, and the first one has feedback on two of them. */
const feedbackMove: Scenario = {
  name: "runs arrive after their feedback",
  given: { shards: "grown", ingestion: "multipart" },
  prepare: async (world) => {
    await makeProjects(world);
    await fill(world);
    const writes = world.programs.traces(1);
    const children = writes.filter(({ kind, fields }) => kind === "post" && "parent_run_id" in fields).slice(0, 2);
    for (const { id, fields } of children) await world.give(id, JSON.parse(fields.start_time ?? "") as string);
    const early = world.project.feedback.map(({ id }) => id);
    world.project.take(writes);
    return {
      work: () => world.weir.send(writes, "multipart", world.random),
      check: async () => {
        const first = world.weir.object(world.project.name, { day: toDay(world.programs.day), shard: 0 });
        world.differences.push(...(await findLeftovers(early, { objects: [first], allowed: ["feedback_places"] })));
        await compareLeft(world);
      },
    };
  },
};

const feedbackDeletion: Scenario = {
  name: "deletion of feedback",
  given: { feedback: "after" },
  prepare: async (world) => {
    await stage(world);
    const [gone] = world.project.feedback;
    const id = gone?.id ?? "";
    return {
      work: () => expectAnswered(world.weir.status(`/feedback/${id}`, { method: "DELETE" })),
      check: async () => {
        world.project.takeBack(id);
        world.differences.push(...(await findLeftovers([id], { objects: await listObjects(world) })));
        await compareLeft(world);
      },
    };
  },
};

const listObjects = async ({ weir, project }: World) =>
  (await weir.places(project.name)).map((place) => weir.object(project.name, place));

const anExport: Scenario = {
  name: "an export",
  given: { values: "long" },
  prepare: async (world) => {
    await stage(world);
    const { start, end } = findWindow(world.project.runs);
    const engine: ExportWorld = engineAt(end / 1000 + 86_400_000);
    const job = await newExport(engine, world.weir.caller.workspaceId, {
      bulk_export_destination_id: await newDestination(engine, world.weir.caller.workspaceId),
      session_id: world.session,
      start_time: start,
      end_time: end,
      compression: "none",
    });
    // The queue delivers a message again when its consumer throws.
    const handle = (wake: Parameters<typeof advance>[1]) =>
      advance(engine.deps, wake).catch(() => void engine.queue.push({ wake, due: engine.clock.now + 30_000 }));
    return {
      work: () => engine.settle({ minutes: 1, handle }),
      check: async () => {
        await engine.settle({ minutes: 6, handle });
        await world.note(() => mustEnd(world, job.id, "COMPLETED"));
        const { rows, manifest } = await readExport(engine.s3, job.id);
        await world.note(async () => sameRows(rows, world, world.project.runs));
        if (manifest?.rows !== rows.length) world.differences.push(`the manifest has ${manifest?.rows} rows`);
        if (engine.s3.uploads.size > 0) world.differences.push(`${engine.s3.uploads.size} uploads are left open`);
      },
    };
  },
};

const retention: Scenario = {
  name: "a shorter retention",
  given: { removal: "expiry" },
  prepare: async (world) => {
    await stage(world);
    const doomed = findDoomed(world);
    return {
      work: () =>
        expectAnswered(
          world.weir.status(`/sessions/${world.session}`, { method: "PATCH", body: { retention_days: 1 } }),
        ),
      check: async () => {
        await expectAnswered(doomed.ask());
        doomed.apply();
        await checkErased(world, doomed);
        await compareLeft(world);
      },
    };
  },
};

/** Examples of a dataset, one with a body in R2, that are erased: alone, or with the dataset. */
const examples = (whole: boolean): Scenario => ({
  name: whole ? "deletion of a dataset" : "erasure of an example",
  given: {},
  prepare: async (world) => {
    const { weir } = world;
    const { id: dataset } = (await weir.call("/datasets", { body: { name: "examples" } })) as { id: string };
    const marker = crypto.randomUUID();
    const body = { dataset_id: dataset, inputs: { text: `${marker} ${"x".repeat(400_000)}` } };
    const { id } = (await weir.call("/examples", { body })) as { id: string };
    const erase = { body: { example_ids: [id], hard_delete: true } };
    return {
      work: () =>
        expectAnswered(
          whole
            ? weir.status(`/datasets/${dataset}`, { method: "DELETE" })
            : weir.status("/v1/platform/datasets/examples/delete", erase),
        ),
      check: async () => {
        const prefixes = [`datasets/${weir.caller.workspaceId}/${dataset}/`];
        world.differences.push(...(await findLeftovers([id, marker, ...(whole ? [dataset] : [])], { prefixes })));
      },
    };
  },
});

export const SCENARIOS: readonly Scenario[] = [
  ingestion,
  feedbackMove,
  feedbackDeletion,
  removal("trace"),
  removal("thread"),
  removal("project"),
  removal("expiry"),
  retention,
  anExport,
  webhook,
  examples(false),
  examples(true),
];
