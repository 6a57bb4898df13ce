import { useLocation, useSearch } from "wouter";
import { useAssistants } from "../../api/queries.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { Loaded } from "../../resources/states.tsx";
import { toBody, newDraft } from "./draft.ts";
import { Form } from "./form.tsx";
import { createCron } from "./queries.ts";

/** `?assistant=<id>` chooses the assistant, `?thread=<id>` the thread. */
export function New() {
  const [, navigate] = useLocation();
  const params = new URLSearchParams(useSearch());
  const assistants = useAssistants();
  return (
    <Page
      title="New cron"
      purpose="Start a run of an assistant on a schedule."
      back={<Back href="/console/crons" name="Crons" />}
    >
      <Loaded query={assistants} what="assistants">
        {([first]) => {
          const thread = params.get("thread") ?? "";
          const draft = newDraft(params.get("assistant") ?? first?.assistant_id ?? "");
          return (
            <Form
              start={thread === "" ? draft : { ...draft, place: "thread", thread }}
              isNew
              action="Create cron"
              onSave={async (given) => {
                const on = given.place === "thread" ? given.thread : undefined;
                const { cron_id } = await createCron(on, given.assistant, toBody(given));
                navigate(`/console/crons/${cron_id}`);
              }}
              onCancel={() => navigate("/console/crons")}
            />
          );
        }}
      </Loaded>
    </Page>
  );
}
