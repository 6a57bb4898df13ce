/** One prompt: how it is pulled, its commits, and its end. */
import { useState } from "react";
import { useMay } from "../../api/me.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { ConfirmDelete } from "../../resources/Confirm.tsx";
import { Loaded } from "../../resources/states.tsx";
import { Button } from "../../ui/Button.tsx";
import work from "../../resources/work.module.css";
import { Commits } from "./Commits.tsx";
import { deletePrompt, usePrompt } from "./queries.ts";

export function Prompt({ name }: { name: string }) {
  const may = useMay();
  const prompt = usePrompt(name);
  const [asked, setAsked] = useState(false);
  return (
    <Page
      title={name}
      back={<Back href="/console/prompts" name="Prompts" />}
      tools={
        prompt.data &&
        may("prompts.write") && (
          <Button look="danger" onClick={() => setAsked(true)}>
            Delete
          </Button>
        )
      }
    >
      <Loaded query={prompt} what="prompt">
        {({ description, readme, num_commits }) => (
          <>
            {description !== null && description !== "" && <p>{description}</p>}
            {readme !== null && readme !== "" && <p className={work.none}>{readme}</p>}
            {num_commits === 0 ? (
              <p className={work.none}>This prompt has no commit yet. Push it with the SDK.</p>
            ) : (
              <Commits name={name} />
            )}
          </>
        )}
      </Loaded>
      {asked && (
        <ConfirmDelete
          title="Delete this prompt?"
          text="All of its commits and tags are deleted. Programs that pull it fail."
          what="prompt"
          needs="prompts.write"
          list="/console/prompts"
          onDelete={() => deletePrompt(name)}
          onClose={() => setAsked(false)}
        />
      )}
    </Page>
  );
}
