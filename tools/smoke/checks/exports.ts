/** An export to the embedded bucket of the deployment. */
import assert from "node:assert/strict";
import { type Check, NotRun } from "../suite.ts";
import { waitUntil } from "../../../test/support/api.ts";
import { langsmith, findProject, sendTrace } from "./traces.ts";

const PATH = "/api/v1/bulk-exports";

interface Export {
  id: string;
  status: string;
  error: string | null;
  progress: { rows_written: number; files_written: number };
}

export const exports: Check[] = [
  {
    name: "exports: a project to the embedded bucket",
    async run(smoke) {
      const refused = await smoke.send("POST", `${PATH}/destinations`, {
        destination_type: "r2",
        display_name: smoke.project,
        config: { prefix: "smoke" },
      });
      const answer = await refused.json<{ id: string; detail?: string }>();
      if (answer.detail?.includes("NoBucket")) throw new NotRun("the deployment has no bucket for exports");
      assert.ok(refused.ok, `${refused.status}: ${answer.detail}`);
      smoke.undoLater("export destination", () => smoke.call("DELETE", `${PATH}/destinations/${answer.id}`));
      const client = langsmith(smoke);
      await sendTrace(smoke, client);
      const session_id = await findProject(smoke, client);
      const { id } = await smoke.call<Export>("POST", PATH, {
        bulk_export_destination_id: answer.id,
        session_id,
        start_time: new Date(Date.now() - 86_400_000).toISOString(),
        end_time: new Date(Date.now() + 86_400_000).toISOString(),
      });
      smoke.noteLeft(`the files of the export in its bucket, under smoke/export_id=${id}/`);
      smoke.noteLeft(`the record of the export ${id}`);
      const done = await waitUntil("the export has ended", 50, async () => {
        const job = await smoke.call<Export>("GET", `${PATH}/${id}`);
        return ["CREATED", "RUNNING"].includes(job.status) ? undefined : job;
      });
      assert.deepEqual([done.status, done.error], ["COMPLETED", null]);
      assert.ok(done.progress.rows_written >= 2, `Only ${done.progress.rows_written} rows were written.`);
      assert.ok(done.progress.files_written >= 1);
    },
  },
];
