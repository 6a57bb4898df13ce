/** Applications that people let in, by OAuth. */
import { Link, useLocation, useSearchParams } from "wouter";
import { SERVER } from "../../api/server.ts";
import { Missing } from "../../resources/Secret.tsx";
import { Page } from "../../resources/Page.tsx";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { ClientDetails } from "./ClientDetails.tsx";
import { type Client, useClients } from "./queries.ts";
import { clientName, returnsTo } from "./labels.ts";
import { countText } from "../../ui/format.ts";

const PATH = "/console/oauth";

/** A client id may be a URL, so it is in the query of the address. */
const clientAddress = ({ client_id }: Client) => `${PATH}?${new URLSearchParams({ client: client_id })}`;

export default function OAuth() {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const clients = useClients();
  const id = params.get("client");
  const close = () => navigate(PATH);
  const open = clients.data?.find(({ client_id }) => client_id === id);
  return (
    <Page
      title="OAuth"
      purpose="Applications with access to this workspace."
      // Where there is no application, the list itself says how to connect one.
      aside={
        clients.data?.length !== 0 && (
          <>
            <h2>Connect an application</h2>
            <p>Give an MCP client this address:</p>
            <Command label="Copy the address" text={`${SERVER}/mcp`} />
            <p>
              The client registers itself and asks for access, which you allow on a page of this server. See{" "}
              <a href="/docs/oauth">the OAuth documentation</a>.
            </p>
          </>
        )
      }
    >
      <Loaded query={clients} what="applications">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No application has access."
              text="Applications register themselves and ask a person for access. Each grant is listed here and can be revoked. To connect an MCP client, give it this address:"
              command={`${SERVER}/mcp`}
            />
          ) : (
            <Table
              label="Applications"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ client_id }) => client_id}
              openKey={id ?? undefined}
              onOpen={(row) => navigate(clientAddress(row))}
            />
          )
        }
      </Loaded>
      {open && <ClientDetails key={open.client_id} client={open} onClose={close} />}
      {id !== null && clients.data && !open && <Missing what="application" onClose={close} />}
    </Page>
  );
}

const COLUMNS: Column<Client>[] = [
  {
    id: "name",
    name: "Application",
    width: 160,
    kept: true,
    grows: true,
    cell: (row) => <Link href={clientAddress(row)}>{clientName(row)}</Link>,
  },
  { id: "scopes", name: "Scopes", width: 160, kept: true, cell: ({ scopes }) => scopes.join(", ") },
  { id: "returns", name: "Returns to", width: 180, cell: ({ redirect_uris }) => returnsTo(redirect_uris) },
  { id: "grants", name: "Grants", width: 72, end: true, cell: ({ grants }) => countText(grants) },
  {
    id: "allowed",
    name: "Allowed",
    width: 88,
    end: true,
    cell: ({ last_granted_at }) => <Time at={last_granted_at} />,
  },
];
