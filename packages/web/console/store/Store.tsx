/** The long-term memory of agents: namespaces, their items, and one item beside them. */
import { ChevronRight, Search } from "lucide-react";
import { Fragment, useEffect, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { useMay } from "../../api/me.ts";
import { useFrame } from "../../app/view-props.ts";
import controls from "../../ui/controls.module.css";
import { useLater } from "../../ui/later.ts";
import { Page } from "../../resources/Page.tsx";
import work from "../../resources/work.module.css";
import { EditItem } from "./EditItem.tsx";
import { Item } from "./Item.tsx";
import { Items } from "./Items.tsx";
import { formatAddress, type StoreLocation, parseLocation } from "./path.ts";
import css from "./store.module.css";
import { Tree } from "./Tree.tsx";

export default function Store() {
  const may = useMay();
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const frame = useFrame();
  const place = parseLocation(params);
  const { namespace, key, of, isNew } = place;
  const go = (change: Partial<StoreLocation>, replace = false) =>
    navigate(formatAddress({ ...place, key: undefined, of: undefined, isNew: false, ...change }), { replace });
  const beside = key !== undefined || isNew;
  return (
    <Page
      whole
      title="Store"
      purpose="What agents store across threads, by namespace and key."
      actions={
        may("store.write") && (
          <Link
            href={formatAddress({ namespace, isNew: true })}
            className={`${controls.button} ${isNew ? `${controls.plain} ${css.second}` : controls.filled} ${css.new}`}
          >
            New item
          </Link>
        )
      }
      tools={
        <>
          <Path namespace={namespace} />
          <Find whole={namespace.length === 0} query={place.query} onQuery={(query) => go({ query }, true)} />
        </>
      }
    >
      <div className={css.panes} data-beside={beside || undefined}>
        {!frame.narrow && (
          <nav className={css.tree} aria-label="Namespaces">
            <Tree current={namespace} />
          </nav>
        )}
        {!(frame.narrow && beside) && (
          <Items place={place} onOpen={(item) => go({ key: item.key, of: item.namespace })} />
        )}
        {isNew ? (
          <EditItem namespace={namespace} onDone={(made) => go(made ?? {})} />
        ) : (
          key !== undefined && <Item key={JSON.stringify([of, key])} namespace={of} name={key} onClose={() => go({})} />
        )}
      </div>
    </Page>
  );
}

/** The namespace in view, each of its labels a way up. */
function Path({ namespace }: { namespace: string[] }) {
  return (
    <nav className={css.path} aria-label="Path">
      <Link href={formatAddress({})} aria-current={namespace.length === 0 ? "page" : undefined}>
        All
      </Link>
      {namespace.map((label, depth) => {
        const up = namespace.slice(0, depth + 1);
        return (
          <Fragment key={up.join("\u0000")}>
            <ChevronRight size={12} aria-hidden />
            <Link
              href={formatAddress({ namespace: up })}
              aria-current={depth === namespace.length - 1 ? "page" : undefined}
            >
              {label}
            </Link>
          </Fragment>
        );
      })}
    </nav>
  );
}

/** Milliseconds without a change of the words before a request is sent. */
const STILL = 300;

function Find({
  whole,
  query,
  onQuery,
}: {
  /** In every namespace. */
  whole: boolean;
  query: string;
  onQuery: (query: string) => void;
}) {
  const [text, setText] = useState(query);
  const settled = useLater(text, STILL);
  useEffect(() => {
    if (settled.trim() !== query) onQuery(settled.trim());
    // Only what a person typed changes the address: a link changes both.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [settled]);
  useEffect(() => setText((now) => (now.trim() === query ? now : query)), [query]);
  return (
    <div className={`${css.find} ${work.search}`}>
      <Search size={16} aria-hidden />
      <input
        type="search"
        className={controls.field}
        placeholder={whole ? "Search all items" : "Search this namespace"}
        aria-label="Search items"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}
