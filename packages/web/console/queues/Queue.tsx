/** One queue: the review of its runs, the agreement on those that are completed, and its settings. */
import { useSearchParams } from "wouter";
import { useMay } from "../../api/me.ts";
import { DeleteButton, ItemPage } from "../../resources/ItemPage.tsx";
import { countText } from "../../ui/format.ts";
import work from "../../resources/work.module.css";
import { Completed } from "./Completed.tsx";
import { deleteQueue, RESOURCE, useQueue, useSizes } from "./queries.ts";
import { QueueForm } from "./form.tsx";
import { Review } from "./Review.tsx";

const TABS = [
  ["", "Review"],
  ["completed", "Completed"],
  ["settings", "Settings"],
] as const;

export function QueuePage({ id }: { id: string }) {
  const may = useMay();
  const [params, setParams] = useSearchParams();
  const queue = useQueue(id);
  const sizes = useSizes(id);
  const tab = params.get("tab") ?? "";
  const go = (name: string) => setParams(name === "" ? {} : { tab: name });
  return (
    <ItemPage
      resource={RESOURCE}
      query={queue}
      title={queue.data?.name}
      purpose={queue.data?.description ?? ""}
      deletion={{ text: "Its runs and the feedback on them stay.", remove: () => deleteQueue(id) }}
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
      {(data) =>
        tab === "completed" ? (
          <Completed queue={data} />
        ) : tab === "settings" ? (
          <>
            <QueueForm key={data.id} queue={data} onSaved={() => go("")} onCancel={() => go("")} />
            <div>
              <DeleteButton>Delete queue</DeleteButton>
            </div>
          </>
        ) : (
          <Review queue={data} />
        )
      }
    </ItemPage>
  );
}
