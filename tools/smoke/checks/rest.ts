/** The Store and crons. */
import assert from "node:assert/strict";
import type { Check } from "../suite.ts";

export const rest: Check[] = [
  {
    name: "store: put, get, search, namespaces, delete",
    async run(smoke) {
      const { store } = smoke.client;
      const namespace = ["smoke", crypto.randomUUID()];
      smoke.undoLater("item of the Store", () => store.deleteItem(namespace, "gauge"));
      await store.putItem(namespace, "gauge", { metres: 3, place: "upper gate" });
      assert.deepEqual((await store.getItem(namespace, "gauge"))?.value, { metres: 3, place: "upper gate" });
      const { items } = await store.searchItems(namespace, { filter: { metres: { $gt: 2 } } });
      assert.deepEqual(
        items.map(({ key }) => key),
        ["gauge"],
      );
      assert.deepEqual((await store.listNamespaces({ prefix: namespace })).namespaces, [namespace]);
      await store.deleteItem(namespace, "gauge");
      assert.deepEqual((await store.searchItems(namespace)).items, []);
    },
  },
  {
    name: "crons: create, search, delete",
    async run(smoke) {
      const { crons } = smoke.client;
      const metadata = { smoke: smoke.project };
      // A disabled cron does not fire during the check.
      const made = await crons.create(smoke.graphs[0] ?? "", { schedule: "0 0 29 2 *", enabled: false, metadata });
      const { cron_id } = made as unknown as { cron_id: string };
      let deleted = false;
      smoke.undoLater("cron", async () => deleted || crons.delete(cron_id));
      const found = await crons.search({ metadata });
      assert.deepEqual(
        found.map((cron) => cron.cron_id),
        [cron_id],
      );
      await crons.delete(cron_id);
      deleted = true;
      await assert.rejects(crons.delete(cron_id), /404/);
    },
  },
];
