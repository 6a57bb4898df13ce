import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { ThreadState } from "../../api/types.ts";
import { Empty, Loaded } from "../../resources/states.tsx";
import { Payload } from "../../ui/Payload.tsx";
import { useThreadHere } from "../queries.ts";
import type { RunDetails } from "../types.ts";

/** The state of the thread after the run that this trace is of. */
export function State({ data }: { data: RunDetails }) {
  const thread = useThreadHere(data.thread_id);
  const runId = data.extra.metadata?.run_id;
  const state = useQuery({
    queryKey: ["state-of-run", data.thread_id, runId],
    enabled: thread.data === true && typeof runId === "string",
    queryFn: async ({ signal }) => {
      const body = { limit: 1, metadata: { run_id: runId } };
      return (await call<ThreadState[]>("POST", `/threads/${data.thread_id}/history`, body, signal))[0] ?? null;
    },
  });
  if (thread.data === false || data.thread_id === null || typeof runId !== "string")
    return (
      <Empty
        title="This run has no state here."
        text="Runs of this server's graphs on a thread have one: their last checkpoint."
      />
    );
  return (
    <Loaded query={state} what="state">
      {(found) =>
        found === null ? (
          <Empty
            title="This run wrote no checkpoint."
            text="It failed before its first step, or its thread was pruned."
          />
        ) : (
          <Payload label="State after the run" text={JSON.stringify(found.values, null, 2)} lines={200} />
        )
      }
    </Loaded>
  );
}
