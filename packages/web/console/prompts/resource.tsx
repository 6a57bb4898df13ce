/** Prompts: which there are, and one of them with its commits and tags. */
import { Link } from "wouter";
import { useMay } from "../../api/me.ts";
import { SERVER } from "../../api/server.ts";
import { defineResource } from "../../resources/defineResource.tsx";
import { DeleteButton, ItemPage } from "../../resources/ItemPage.tsx";
import type { Resource } from "../../resources/ListPage.tsx";
import work from "../../resources/work.module.css";
import { countText, quantityText } from "../../ui/format.ts";
import type { Column } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { Commits } from "./Commits.tsx";
import { deletePrompt, type PromptRow, usePrompt, usePrompts } from "./queries.ts";

const RESOURCE: Resource = {
  path: "/console/prompts",
  name: "Prompts",
  one: "prompt",
  permission: "prompts.write",
};

const PUSH = `import { Client } from "langsmith";

// LANGSMITH_ENDPOINT=${SERVER}
await new Client().pushPrompt("answers", {
  object: prompt,
  commitTags: "prod",
});`;

const COLUMNS: Column<PromptRow>[] = [
  {
    id: "name",
    name: "Prompt",
    width: 140,
    kept: true,
    cell: ({ repo_handle }) => (
      <Link href={`${RESOURCE.path}/${encodeURIComponent(repo_handle)}`} className={work.open}>
        {repo_handle}
      </Link>
    ),
  },
  { id: "about", name: "Description", width: 140, grows: true, cell: ({ description }) => description },
  { id: "labels", name: "Labels", width: 120, detail: true, cell: ({ tags }) => tags.join(", ") },
  {
    id: "archived",
    name: "Status",
    width: 72,
    detail: true,
    cell: ({ is_archived }) => is_archived && <span className={work.faint}>archived</span>,
  },
  { id: "likes", name: "Likes", width: 56, end: true, cell: ({ num_likes }) => countText(num_likes) },
  {
    id: "commits",
    name: "Commits",
    width: 72,
    end: true,
    detail: true,
    cell: ({ num_commits }, isPhone) => (isPhone ? quantityText(num_commits, "commit") : countText(num_commits)),
  },
  {
    id: "updated",
    name: "Updated",
    width: 88,
    end: true,
    kept: true,
    cell: ({ updated_at }) => <Time at={updated_at} />,
  },
];

export default defineResource<PromptRow>(RESOURCE, {
  list: {
    purpose: "Versions of prompts, and which of them is released.",
    isReadOnly: true,
    useRows: usePrompts,
    rowKey: ({ id }) => id,
    rowPath: ({ repo_handle }) => encodeURIComponent(repo_handle),
    columns: COLUMNS,
    empty: { text: "A prompt is pushed by the LangSmith SDK, and pulled by its name and a tag:", command: PUSH },
  },
  item: PromptPage,
});

/** One prompt: how it is pulled, its commits, and its end. */
function PromptPage({ id: name }: { id: string }) {
  const may = useMay();
  const prompt = usePrompt(name);
  return (
    <ItemPage
      resource={RESOURCE}
      query={prompt}
      title={name}
      tools={prompt.data && may("prompts.write") && <DeleteButton />}
      deletion={{
        text: "All of its commits and tags are deleted. Programs that pull it fail.",
        remove: () => deletePrompt(name),
      }}
    >
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
    </ItemPage>
  );
}
