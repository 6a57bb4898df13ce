/** Agent cards: what an assistant is, can do, and where it is called, as each generation reads it. */
import type { Json } from "../../lib/json.ts";
import { SCOPES } from "../../http/principal.ts";
import type { Assistant } from "../../agents/assistants/store.ts";
import { type Modes, readSettings } from "./modes.ts";

/** The content of an assistant's card. */
export type Described = Pick<
  Assistant,
  "assistant_id" | "graph_id" | "name" | "description" | "metadata" | "version"
> & { modes: Modes };

/** How callers prove who they are, in 1.0's words. */
function securityOf1(origin: string) {
  return {
    securitySchemes: {
      apiKey: {
        apiKeySecurityScheme: { location: "header", name: "X-API-Key", description: "An API key of a workspace." },
      },
      oauth2: {
        oauth2SecurityScheme: {
          description: "OAuth 2.1; clients register themselves.",
          oauth2MetadataUrl: `${origin}/.well-known/oauth-authorization-server`,
          flows: { authorizationCode: { ...oauthFlow(origin), pkceRequired: true } },
        },
      },
    },
    securityRequirements: [{ schemes: { apiKey: { list: [] } } }, { schemes: { oauth2: { list: ["write"] } } }],
  };
}

/** The same in 0.3's words. Each scheme also has 1.0's member, so that a client of 1.0 finds all of its own card in it. */
function securityOf03(origin: string) {
  const { securitySchemes } = securityOf1(origin);
  const { apiKey, oauth2 } = securitySchemes;
  const { location, ...key } = apiKey.apiKeySecurityScheme;
  return {
    securitySchemes: {
      apiKey: { type: "apiKey", in: location, ...key, ...apiKey },
      oauth2: { type: "oauth2", ...oauth2.oauth2SecurityScheme, ...oauth2 },
    },
    security: [{ apiKey: [] }, { oauth2: ["write"] }],
  };
}

const oauthFlow = (origin: string) => ({
  authorizationUrl: `${origin}/oauth/authorize`,
  tokenUrl: `${origin}/oauth/token`,
  refreshUrl: `${origin}/oauth/token`,
  scopes: Object.fromEntries(SCOPES.map((scope) => [scope, `May ${scope}`])),
});

/** What both generations have in common. */
function commonFields(assistant: Described): Json {
  const { name, graph_id, version, modes } = assistant;
  const { skills, provider, documentation_url, icon_url } = readSettings(assistant);
  const description = assistant.description || `The assistant "${name}" on the graph "${graph_id}".`;
  return {
    name,
    description,
    version: `${version}.0.0`,
    defaultInputModes: modes.input,
    defaultOutputModes: modes.output,
    skills: skills ?? [{ id: graph_id, name, description, tags: [graph_id] }],
    ...(provider && { provider }),
    ...(documentation_url && { documentationUrl: documentation_url }),
    ...(icon_url && { iconUrl: icon_url }),
  };
}

const cardUrl = (assistant: Described, origin: string) => `${origin}/a2a/${assistant.assistant_id}`;

/** A card with only the members of version 1.0. */
export function card1(assistant: Described, origin: string): Json {
  const { extensions } = readSettings(assistant);
  // Protobuf leaves out a `required` of false, and so does everyone who checks the card's signature.
  const declared = extensions?.map(({ required, ...one }) => ({ ...one, ...(required && { required }) }));
  const url = cardUrl(assistant, origin);
  return {
    ...commonFields(assistant),
    supportedInterfaces: [
      { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      ...(declared && { extensions: declared }),
    },
    ...securityOf1(origin),
  };
}

/** The card of 1.0 with the members of 0.3: clients of both generations read it, each without the other's members. */
export function hybridCard(assistant: Described, origin: string): Json {
  const card = card1(assistant, origin);
  return {
    ...card,
    protocolVersion: "0.3.0",
    url: cardUrl(assistant, origin),
    preferredTransport: "JSONRPC",
    capabilities: { ...(card.capabilities as Json), stateTransitionHistory: false },
    supportsAuthenticatedExtendedCard: true,
    ...securityOf03(origin),
  };
}
