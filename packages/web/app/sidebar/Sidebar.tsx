import { Plus } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useLocation, useRoute } from "wouter";
import { useThreads } from "../../api/queries.ts";
import { useLater } from "../../ui/later.ts";
import controls from "../../ui/controls.module.css";
import { LinkButton } from "../../ui/Button.tsx";
import { waits } from "../../chat/thread-row.ts";
import { groupThreads, isOfCron } from "./groups.ts";
import css from "./Sidebar.module.css";
import { ThreadLink } from "./ThreadLink.tsx";

/** After the last letter, so that a word is one search. */
const SEARCH_MS = 200;
/** Below this many shown threads further pages are read: the first may be threads of crons only. */
const ENOUGH = 20;
const MOST_PAGES = 4;

/** The threads beside the chat. */
export function Sidebar({ onClose }: { onClose?: () => void }) {
  const [search, setSearch] = useState("");
  const words = useLater(search.trim(), SEARCH_MS);
  const threads = useThreads(true, words);
  const [, navigate] = useLocation();
  const [, params] = useRoute("/chat/:threadId");
  const rows = useMemo(() => threads.data?.pages.flat() ?? [], [threads.data]);
  const [crons, setCrons] = useState(false);
  const shown = useMemo(
    () => rows.filter((row) => crons || !isOfCron(row) || waits(row) || row.thread_id === params?.threadId),
    [rows, crons, params?.threadId],
  );
  const groups = useMemo(() => groupThreads(shown), [shown]);
  const { hasNextPage, isFetching, fetchNextPage } = threads;
  const pages = threads.data?.pages.length ?? 0;
  useEffect(() => {
    if (shown.length < ENOUGH && hasNextPage && !isFetching && pages < MOST_PAGES) void fetchNextPage();
  }, [shown.length, hasNextPage, isFetching, pages, fetchNextPage]);

  return (
    <div className={css.side}>
      <div className={css.top}>
        <div className={css.brand}>
          <button
            type="button"
            className={css.fresh}
            onClick={() => {
              navigate("/chat");
              onClose?.();
            }}
          >
            <Plus size={16} aria-hidden /> New thread
          </button>
        </div>
        <input
          type="search"
          className={controls.field}
          placeholder="Search threads"
          aria-label="Search threads"
          maxLength={200}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <div className={css.list}>
        {threads.isPending && <Skeleton />}
        {threads.error && !threads.data && (
          <p className={css.note}>The threads could not be loaded. {threads.error.message}</p>
        )}
        {threads.data && rows.length === 0 && words === "" && (
          <p className={css.note}>No threads yet. Send a message to start one.</p>
        )}
        {threads.data && rows.length === 0 && words !== "" && !threads.isPlaceholderData && (
          <p className={css.note}>
            No thread contains “{words}”. <LinkButton onClick={() => setSearch("")}>Clear search</LinkButton>
          </p>
        )}
        {groups.map((group) => (
          <section key={group.name} aria-label={group.name}>
            <h2 className={css.group}>{group.name}</h2>
            <ul>
              {group.threads.map((thread) => (
                <ThreadLink key={thread.thread_id} thread={thread} current={params?.threadId === thread.thread_id} />
              ))}
            </ul>
          </section>
        ))}
        {(crons || shown.length < rows.length) && (
          <p className={css.note}>
            <LinkButton onClick={() => setCrons(!crons)}>
              {crons ? "Hide threads of crons" : `Show threads of crons (${rows.length - shown.length})`}
            </LinkButton>
          </p>
        )}
        {threads.hasNextPage && (
          <button
            type="button"
            className={css.more}
            disabled={threads.isFetchingNextPage}
            onClick={() => void threads.fetchNextPage()}
          >
            Show more
          </button>
        )}
      </div>
    </div>
  );
}

function Skeleton() {
  return (
    <div className={css.skeleton} role="status" aria-label="Loading the threads">
      {[82, 64, 74, 58, 70].map((width) => (
        <i key={width} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
