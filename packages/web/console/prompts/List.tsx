/** The prompts of the workspace. */
import { Link, useLocation } from "wouter";
import { SERVER } from "../../api/server.ts";
import { Button } from "../../ui/Button.tsx";
import { Page } from "../../resources/Page.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import work from "../../resources/work.module.css";
import { type PromptRow, usePrompts } from "./queries.ts";
import { countText, quantityText } from "../../ui/format.ts";

const PUSH = `import { Client } from "langsmith";

// LANGSMITH_ENDPOINT=${SERVER}
await new Client().pushPrompt("answers", {
  object: prompt,
  commitTags: "prod",
});`;

const promptAddress = (name: string) => `/console/prompts/${encodeURIComponent(name)}`;

export function List() {
  const prompts = usePrompts();
  const [, navigate] = useLocation();
  return (
    <Page title="Prompts" purpose="Versions of prompts, and which of them is released.">
      <Loaded query={prompts} what="prompts">
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty
              title="No prompts yet."
              text="A prompt is pushed by the LangSmith SDK, and pulled by its name and a tag:"
              command={PUSH}
            />
          ) : (
            <>
              <Table
                label="Prompts"
                columns={COLUMNS}
                rows={rows}
                rowKey={({ id }) => id}
                onOpen={({ repo_handle }) => navigate(promptAddress(repo_handle))}
              />
              {prompts.hasNextPage && (
                <div>
                  <Button disabled={prompts.isFetchingNextPage} onClick={() => void prompts.fetchNextPage()}>
                    Show more
                  </Button>
                </div>
              )}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const COLUMNS: Column<PromptRow>[] = [
  {
    id: "name",
    name: "Prompt",
    width: 140,
    kept: true,
    cell: ({ repo_handle }) => (
      <Link href={promptAddress(repo_handle)} className={work.open}>
        {repo_handle}
      </Link>
    ),
  },
  { id: "about", name: "Description", width: 140, grows: true, cell: ({ description }) => description },
  { id: "labels", name: "Labels", width: 120, fact: true, cell: ({ tags }) => tags.join(", ") },
  {
    id: "archived",
    name: "Status",
    width: 72,
    fact: true,
    cell: ({ is_archived }) => is_archived && <span className={work.faint}>archived</span>,
  },
  { id: "likes", name: "Likes", width: 56, end: true, cell: ({ num_likes }) => countText(num_likes) },
  {
    id: "commits",
    name: "Commits",
    width: 72,
    end: true,
    fact: true,
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
