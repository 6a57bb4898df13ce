import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { formatCurl } from "../../api/server.ts";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { scoreText } from "../../ui/format.ts";
import { exactTime } from "../../ui/time.ts";
import css from "./details.module.css";
import type { Span } from "../types.ts";
import type { StoredFeedback } from "../../../../src/traces/types.ts";

/** The feedback on a run. */
export function Feedback({ run }: { run: Span }) {
  const feedback = useQuery({
    queryKey: ["feedback", run.id],
    queryFn: ({ signal }) => call<StoredFeedback[]>("GET", `/api/v1/feedback?run=${run.id}`, undefined, signal),
  });
  const command = formatCurl("/api/v1/feedback", `{"run_id": "${run.id}", "key": "correct", "score": 1}`);
  return (
    <Loaded query={feedback} what="feedback" rows={3}>
      {(given) =>
        given.length === 0 ? (
          <Empty
            title="No feedback on this run."
            text="Send it with the API, or create a feedback link, which needs no key:"
            command={command}
          />
        ) : (
          <>
            <dl className={css.noted}>
              {given.map(({ id, key, score, value, comment, created_at }) => (
                <div key={id}>
                  <dt>{key}</dt>
                  <dd>
                    {score !== null && <strong>{scoreText(score)}</strong>}
                    {value ? <p className="text">{typeof value === "string" ? value : JSON.stringify(value)}</p> : ""}
                    {comment !== null && <p className="text">{comment}</p>}
                    <time className={css.when} dateTime={created_at}>
                      {exactTime(created_at)}
                    </time>
                  </dd>
                </div>
              ))}
            </dl>
            <section>
              <h3>Send feedback with the API</h3>
              <Command text={command} label="Copy the request" />
            </section>
          </>
        )
      }
    </Loaded>
  );
}
