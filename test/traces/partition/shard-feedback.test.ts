/** Feedback on a day with several shards. */
import { describe, expect, it } from "vitest";
import type { StoredFeedback } from "../../../src/traces/types.ts";
import { newCaller } from "../../support/caller.ts";
import { findLeftovers } from "../../support/erased.ts";
import { idsIn, newProject, getPartition, send } from "../../support/shards.ts";
import { NOON, type Sent, sentRun } from "../../support/traces.ts";

describe("feedback on a day that grows", () => {
  it("takes feedback that came before its run to the shard of the run, also when a move stopped before", async () => {
    const caller = await newCaller();
    const { project, place, shard, identity, fill } = await newProject(caller);
    await fill(0);
    await send(caller, [sentRun(NOON)]);
    const root = sentRun(NOON + 1);
    const children = Array.from({ length: 3 }, (_, n) => sentRun(NOON + 2 + n, {}, root));
    const give = async ({ id: run_id, start_time }: Sent, key: string) => {
      const body = { run_id, session_id: project, start_time, key, score: 1 };
      return (await (await caller.fetch("/feedback", { body })).json<{ id: string }>()).id;
    };
    const ids: string[] = [];
    for (const child of children) ids.push(await give(child, "mood"));
    // One move stopped after the other shard had taken the feedback, which a patch of another isolate changes here after that.
    const [early] = await shard(0).getFeedback([ids[0] as string]);
    await shard(1).takeFeedback(identity(1), early as StoredFeedback);
    expect((await caller.fetch(`/feedback/${ids[0]}`, { method: "PATCH", body: { score: 0.25 } })).status).toBe(200);
    expect((await shard(0).getFeedback(ids)).map(({ id }) => id).sort()).toEqual(ids.toSorted());

    // One that both shards have is deleted.
    const gone = await give(children[2] as Sent, "gone");
    const [doubled] = await shard(0).getFeedback([gone]);
    await shard(1).takeFeedback(identity(1), doubled as StoredFeedback);
    expect((await caller.fetch(`/feedback/${gone}`, { method: "DELETE" })).status).toBe(200);

    await send(caller, [root, ...children]);
    expect(await shard(0).getFeedback(ids)).toEqual([]);
    expect(await shard(1).getFeedback([gone])).toEqual([]);
    expect(await idsIn(shard(1))).toEqual([root.id, ...children.map(({ id }) => id)]);
    const stats = await (await caller.fetch("/runs/stats", { body: { session: [project] } })).json();
    expect(stats).toMatchObject({ feedback_stats: { mood: { n: 3, avg: 0.75 } } });
    const run = await (await caller.fetch(`/runs/${children[1]?.id}`)).json();
    expect(run).toMatchObject({ feedback_stats: { mood: { n: 1, avg: 1 } } });
    expect(await (await caller.fetch(`/feedback/${ids[0]}`)).json()).toMatchObject({ score: 0.25 });
    const listed = await (await caller.fetch(`/feedback?session=${project}`)).json<{ id: string }[]>();
    expect(listed.map(({ id }) => id).sort()).toEqual(ids.toSorted());
    expect((await caller.fetch(`/feedback/${ids[2]}`, { method: "PATCH", body: { score: 0 } })).status).toBe(200);

    const deletion = `/api/v2/traces/${root.id}?project_id=${project}`;
    expect((await caller.fetch(deletion, { method: "DELETE" })).status).toBe(200);
    expect(await (await caller.fetch(`/feedback?session=${project}`)).json()).toEqual([]);
    const objects = [0, 1].map((n) => getPartition(caller.workspaceId, place(n)));
    expect(await findLeftovers(ids, { objects })).toEqual([]);
  });

  it("deletes feedback whose run was deleted in the shard that would take it", async () => {
    const caller = await newCaller();
    const { project, shard, fill } = await newProject(caller);
    await fill(0);
    await send(caller, [sentRun(NOON)]);
    const root = sentRun(NOON + 1);
    const child = sentRun(NOON + 2, {}, root);
    await send(caller, [root]);
    const body = { run_id: child.id, session_id: project, start_time: child.start_time, key: "mood", score: 1 };
    const { id } = await (await caller.fetch("/feedback", { body })).json<{ id: string }>();
    await shard(1).deleteTraces([root.id, child.id]);
    await send(caller, [child]);
    expect(await shard(0).getFeedback([id])).toEqual([]);
    expect(await (await caller.fetch(`/feedback?session=${project}`)).json()).toEqual([]);
  });
});
