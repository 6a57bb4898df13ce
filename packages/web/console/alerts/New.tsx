import { useLocation, useSearch } from "wouter";
import { useProjects } from "../../api/queries.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { Loaded } from "../../resources/states.tsx";
import { AlertForm } from "./form.tsx";
import { newDraft, toBody } from "./draft.ts";
import { saveAlert } from "./queries.ts";

/** `?project=<id>` chooses the project, `?example=<name>` what the form begins with. */
export function New() {
  const [, navigate] = useLocation();
  const params = new URLSearchParams(useSearch());
  const projects = useProjects();
  return (
    <Page
      title="New alert"
      purpose="The figure it watches, and the channels it notifies."
      back={<Back href="/console/alerts" name="Alerts" />}
    >
      <Loaded query={projects} what="projects">
        {(known) => (
          <AlertForm
            start={newDraft(params.get("project") ?? known[0]?.id ?? "", params.get("example"))}
            projects={known}
            submit="Create alert"
            onSave={async (draft) =>
              navigate(`/console/alerts/${(await saveAlert(undefined, toBody(draft, true))).id}`)
            }
            onCancel={() => navigate("/console/alerts")}
          />
        )}
      </Loaded>
    </Page>
  );
}
