import assert from "node:assert/strict";
import type { Check } from "../suite.ts";

export const assistants: Check[] = [
  {
    name: "assistants: create, versions, activate, search, delete",
    async run(smoke) {
      const { assistants } = smoke.client;
      const [graphId] = smoke.graphs as [string];
      const { assistant_id: id } = await assistants.create({
        graphId,
        name: "Smoke",
        metadata: { smoke: smoke.project },
      });
      smoke.undoLater("assistant", () => assistants.delete(id));
      assert.equal((await assistants.update(id, { graphId, metadata: { changed: true } })).version, 2);
      assert.deepEqual(
        (await assistants.getVersions(id)).map(({ version }) => version),
        [2, 1],
      );
      assert.equal((await assistants.setLatest(id, 1)).version, 1);
      const found = await assistants.search({ metadata: { smoke: smoke.project } });
      assert.deepEqual(
        found.map(({ assistant_id }) => assistant_id),
        [id],
      );
      const second = await assistants.create({ graphId, name: "Smoke, deleted at once" });
      await assistants.delete(second.assistant_id);
      await assert.rejects(assistants.get(second.assistant_id), /404/);
    },
  },
  {
    name: "assistants: graph and schemas of every graph",
    async run({ client, graphs }) {
      for (const graph of graphs) {
        const { nodes } = await client.assistants.getGraph(graph);
        assert.ok(nodes.length > 0, `${graph} has no nodes.`);
        assert.equal((await client.assistants.getSchemas(graph)).graph_id, graph);
      }
    },
  },
];
