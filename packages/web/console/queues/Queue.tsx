/** One queue: the review of its runs, the agreement on those that are completed, and its settings. */
import { useState } from "react";
import { useSearchParams } from "wouter";
import { useMay } from "../../api/me.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { ConfirmDelete } from "../../resources/Confirm.tsx";
import { Loaded } from "../../resources/states.tsx";
import { Button } from "../../ui/Button.tsx";
import { countText } from "../../ui/format.ts";
import work from "../../resources/work.module.css";
import { Completed } from "./Completed.tsx";
import { deleteQueue, useQueue, useSizes } from "./queries.ts";
import { QueueForm } from "./form.tsx";
import { Review } from "./Review.tsx";

const TABS = [
  ["", "Review"],
  ["completed", "Completed"],
  ["settings", "Settings"],
] as const;

export function Queue({ id }: { id: string }) {
  const may = useMay();
  const [params, setParams] = useSearchParams();
  const queue = useQueue(id);
  const sizes = useSizes(id);
  const [asked, setAsked] = useState(false);
  const tab = params.get("tab") ?? "";
  const go = (name: string) => setParams(name === "" ? {} : { tab: name });
  return (
    <Page
      title={queue.data?.name ?? "Queue"}
      purpose={queue.data?.description ?? ""}
      back={<Back href="/console/queues" name="Annotation queues" />}
      tools={
        <>
          <div className={work.chips} role="group" aria-label="Show">
            {TABS.filter(([name]) => name !== "settings" || may("queues.write")).map(([name, words]) => (
              <button
                key={name}
                type="button"
                className={work.chip}
                aria-pressed={tab === name}
                onClick={() => go(name)}
              >
                {words}
              </button>
            ))}
          </div>
          {sizes.data && (
            <span className={work.note} role="status">
              {countText(sizes.data.mine)} for you, {countText(sizes.data.others)} for others,{" "}
              {countText(sizes.data.completed)} completed
            </span>
          )}
        </>
      }
    >
      <Loaded query={queue} what="queue">
        {(data) =>
          tab === "completed" ? (
            <Completed queue={data} />
          ) : tab === "settings" ? (
            <>
              <QueueForm key={data.id} queue={data} onSaved={() => go("")} onCancel={() => go("")} />
              <div>
                <Button look="danger" onClick={() => setAsked(true)}>
                  Delete queue
                </Button>
              </div>
            </>
          ) : (
            <Review queue={data} />
          )
        }
      </Loaded>
      {asked && (
        <ConfirmDelete
          title="Delete this queue?"
          text="Its runs and the feedback on them stay."
          what="queue"
          needs="queues.write"
          list="/console/queues"
          onDelete={() => deleteQueue(id)}
          onClose={() => setAsked(false)}
        />
      )}
    </Page>
  );
}
