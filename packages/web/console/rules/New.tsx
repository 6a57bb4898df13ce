import { useLocation, useSearch } from "wouter";
import { useProjects } from "../../api/queries.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { Loaded } from "../../resources/states.tsx";
import { newDraft, toBody } from "./draft.ts";
import { saveRule } from "./queries.ts";
import { RuleForm } from "./form.tsx";

/** `?project=<id>` chooses the project, `?example=<name>` what the form begins with. */
export function New() {
  const [, navigate] = useLocation();
  const params = new URLSearchParams(useSearch());
  const projects = useProjects();
  return (
    <Page
      title="New rule"
      purpose="Which runs it takes, and what it does with them."
      back={<Back href="/console/rules" name="Rules" />}
    >
      <Loaded query={projects} what="projects">
        {(known) => (
          <RuleForm
            start={newDraft(params.get("project") ?? known[0]?.id ?? "", params.get("example"))}
            projects={known}
            submit="Create rule"
            onSave={async (draft) => navigate(`/console/rules/${(await saveRule(undefined, toBody(draft, true))).id}`)}
            onCancel={() => navigate("/console/rules")}
          />
        )}
      </Loaded>
    </Page>
  );
}
