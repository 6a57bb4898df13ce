/** The people of the workspace, and who is invited. */
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useMe } from "../../api/me.ts";
import { resolveAddress } from "../../api/server.ts";
import type { ViewProps } from "../../app/view-props.ts";
import { Page } from "../../resources/Page.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { useAction } from "../../resources/action.ts";
import { Button } from "../../ui/Button.tsx";
import { Missing } from "../../resources/Missing.tsx";
import css from "../../resources/parts.module.css";
import { Secret } from "../../resources/Secret.tsx";
import { Section } from "../../resources/Section.tsx";
import { Invite } from "./Invite.tsx";
import { MemberDetails } from "./MemberDetails.tsx";
import {
  type Invitation,
  type Member,
  memberName,
  type NewInvitation,
  invitationState,
  takeBack,
  useInvitations,
  useMembers,
} from "./queries.ts";

const PATH = "/console/members";

export default function Members({ id }: ViewProps) {
  const [, navigate] = useLocation();
  const members = useMembers();
  const invitations = useInvitations();
  const [made, setMade] = useState<NewInvitation>();
  const close = () => navigate(PATH);
  const open = members.data?.find((member) => member.id === id);
  return (
    <Page
      title="Members"
      purpose="People with a role in this workspace."
      actions={
        <Button look="filled" onClick={() => navigate(`${PATH}/new`)}>
          Invite
        </Button>
      }
    >
      <Loaded query={members} what="members">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No members yet."
              text="Invite a person by a link. People sign in by the OpenID provider of this server."
            />
          ) : (
            <Table
              label="Members"
              columns={COLUMNS}
              rows={rows}
              rowKey={memberKey}
              openKey={id}
              onOpen={(row) => navigate(`${PATH}/${row.id}`)}
            />
          )
        }
      </Loaded>
      <Section title="Invitations">
        <Loaded query={invitations} what="invitations" rows={2}>
          {(rows) =>
            rows.length === 0 ? (
              <p className={css.note}>No person is invited.</p>
            ) : (
              <Table label="Invitations" columns={INVITED} rows={rows} rowKey={memberKey} />
            )
          }
        </Loaded>
      </Section>
      {id === "new" && (
        <Invite
          onMade={(one) => {
            setMade(one);
            close();
          }}
          onClose={close}
        />
      )}
      {open && <MemberDetails key={open.id} member={open} onClose={close} />}
      {id !== undefined && id !== "new" && members.data && !open && <Missing what="member" onClose={close} />}
      {made && (
        <Secret
          title="Invitation"
          text="Copy the link now: it is not shown again. Who has it becomes a member with the role that you chose."
          secret={made.url}
          onDone={() => setMade(undefined)}
        />
      )}
      <Workspaces />
    </Page>
  );
}

const memberKey = ({ id }: { id: string }) => id;

/** The other workspaces of the person. Changing to one is another sign-in, which the provider knows the person for. */
function Workspaces() {
  const { data: me } = useMe();
  const others = me?.member?.workspaces.filter(({ id }) => id !== me.workspace.id) ?? [];
  if (!me?.member) return null;
  return (
    <>
      <h2>You</h2>
      <p>
        {memberName(me.member)}, {me.role} in {me.workspace.name ?? me.workspace.id}
      </p>
      {others.length > 0 && <h2>Your other workspaces</h2>}
      {others.map(({ id, name }) => (
        <p key={id}>
          <a href={resolveAddress(`/oauth/openid/sign-in?${new URLSearchParams({ workspace: id })}`)}>{name}</a>
        </p>
      ))}
    </>
  );
}

const COLUMNS: Column<Member>[] = [
  {
    id: "name",
    name: "Member",
    width: 200,
    kept: true,
    grows: true,
    cell: (row) => <Link href={`${PATH}/${row.id}`}>{memberName(row)}</Link>,
  },
  { id: "role", name: "Role", width: 120, kept: true, cell: ({ role }) => role },
  {
    id: "signed-in",
    name: "Last sign-in",
    width: 104,
    end: true,
    cell: ({ signed_in_at }) => (signed_in_at === null ? "not yet" : <Time at={signed_in_at} />),
  },
  { id: "since", name: "Since", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const INVITED: Column<Invitation>[] = [
  {
    id: "for",
    name: "For",
    width: 200,
    kept: true,
    grows: true,
    cell: ({ email }) => email ?? "who has the link",
  },
  { id: "role", name: "Role", width: 120, kept: true, cell: ({ role }) => role },
  { id: "state", name: "State", width: 88, cell: (row) => invitationState(row, Date.now()) },
  { id: "created", name: "Created", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { id: "end", name: "", width: 104, kept: true, end: true, cell: (row) => <TakeBack invitation={row} /> },
];

function TakeBack({ invitation }: { invitation: Invitation }) {
  const action = useAction("members.manage");
  if (invitationState(invitation, Date.now()) !== "open") return null;
  return (
    <Button
      look="quiet"
      disabled={action.busy}
      title={action.trouble === "" ? undefined : action.trouble}
      onClick={() => void action.run(() => takeBack(invitation.id))}
    >
      Take back
    </Button>
  );
}
