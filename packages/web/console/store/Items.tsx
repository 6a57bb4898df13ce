/** The items at and below a namespace. On a narrow screen the namespaces below come first. */
import { Link } from "wouter";
import { useFrame } from "../../app/view-props.ts";
import { formatCurl } from "../../api/server.ts";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import work from "../../resources/work.module.css";
import { formatAddress, listChildren, type StoreLocation, previewValue, same } from "./path.ts";
import { type Item, useItems, useLevel } from "./queries.ts";
import css from "./store.module.css";
import { ShowMore } from "../../resources/ListPage.tsx";

const WRITE = formatCurl(
  "/store/items -X PUT",
  `{
    "namespace": ["users", "ada"],
    "key": "home",
    "value": {"city": "Turin"}
  }`,
);

const itemId = ({ namespace, key }: Pick<Item, "namespace" | "key">) => JSON.stringify([...namespace, key]);

export function Items({
  place: { namespace, key, of, query },
  onOpen,
}: {
  place: StoreLocation;
  onOpen: (item: Pick<Item, "namespace" | "key">) => void;
}) {
  const frame = useFrame();
  const items = useItems(namespace, query);
  return (
    <div className={css.items} data-scroller>
      {frame.narrow && query === "" && <Below namespace={namespace} />}
      <Loaded query={items} what="items">
        {({ rows }) =>
          rows.length === 0 ? (
            query !== "" ? (
              <Empty
                title="No items match."
                text="Search for other words, or in a namespace above. The search looks at the texts of the values."
              />
            ) : namespace.length > 0 ? (
              <Empty
                title="No items in this namespace."
                text="Write one with the button above, or choose another namespace."
              />
            ) : (
              <Empty
                title="The store is empty."
                text="Graphs use the store for data that must outlast a thread. Write an item with the button above, or with the API:"
                command={WRITE}
              />
            )
          ) : (
            <>
              <Table
                label="Items"
                columns={buildColumns(namespace, query, rows)}
                rows={rows}
                rowKey={itemId}
                onOpen={onOpen}
                openKey={key === undefined ? undefined : itemId({ namespace: of, key })}
              />
              <ShowMore query={items} />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

/** The namespaces one level below, as links. */
function Below({ namespace }: { namespace: string[] }) {
  const level = useLevel(namespace);
  const children = listChildren(level.data ?? [], namespace);
  if (children.length === 0) return null;
  return (
    <nav aria-label="Namespaces below">
      <ul className={css.below}>
        {children.map((label) => (
          <li key={label}>
            <Link href={formatAddress({ namespace: [...namespace, label] })}>{label}</Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function buildColumns(namespace: string[], query: string, rows: Item[]): Column<Item>[] {
  const below: Column<Item> = {
    id: "namespace",
    name: "Namespace",
    width: 168,
    detail: true,
    cell: ({ namespace: own }) => {
      const rest = own.slice(namespace.length).join(" / ");
      return <span title={rest}>{rest}</span>;
    },
  };
  return [
    {
      id: "key",
      name: "Key",
      width: 112,
      kept: true,
      cell: ({ namespace: own, key }) => (
        <Link href={formatAddress({ namespace, of: own, key, query })} title={key}>
          {key}
        </Link>
      ),
    },
    {
      id: "value",
      name: "Value",
      width: 120,
      kept: true,
      grows: true,
      cell: ({ value }) => <span className={work.faint}>{previewValue(value)}</span>,
    },
    ...(rows.some((one) => !same(one.namespace, namespace)) ? [below] : []),
    {
      id: "changed",
      name: "Changed",
      width: 88,
      end: true,
      detail: true,
      cell: ({ updated_at }) => <Time at={updated_at} />,
    },
  ];
}
