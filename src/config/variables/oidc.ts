import { secret, text, variable } from '../variable.ts';

const HOST = String.raw`(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?`;
const GROUP = String.raw`[^,\s][^,\r\n]{0,199}?:(?:viewer|operator)`;

const claim = () => text(/^[\x21-\x7e]{1,200}$/, 'the name of a claim');

/** Sign-in of people at the ops server through a provider of OpenID Connect. */
export const oidcVariables = {
  issuer: variable(
    'OIDC_ISSUER',
    // Not normalized: a provider may end its name with a slash, and the names are compared.
    text(
      new RegExp(String.raw`^https?://${HOST}(?:/[^\s\\?#]{0,500})?$`),
      'https:// (or http:// on this machine) with a host, without user name, query or fragment',
    ).exactOptional(),
    {
      description:
        'Issuer URL of the OpenID Connect provider through which people sign in to the ops server; its discovery document is found below it.',
    },
  ),
  clientId: variable(
    'OIDC_CLIENT_ID',
    text(/^[\x21-\x7e]{1,255}$/, '1 to 255 printable characters without spaces').exactOptional(),
    { description: 'Name under which the ops server is registered at the provider.' },
  ),
  clientSecret: variable(
    'OIDC_CLIENT_SECRET',
    secret(/^[\x20-\x7e]{1,1024}$/, '1 to 1024 printable characters').exactOptional(),
    { description: 'Secret of the ops server at the provider.' },
  ),
  roles: variable(
    'OIDC_ROLES',
    text(
      new RegExp(String.raw`^\s*${GROUP}(?:\s*,\s*${GROUP})*\s*$`),
      'entries such as notice-admins:operator, separated by commas',
    ).exactOptional(),
    {
      description:
        'What the values of the role claim mean here, each `value:role`, separated by commas, such as `notice-admins:operator,support:viewer`. The highest role of a person counts; a person without one is refused.',
    },
  ),
  roleClaim: variable('OIDC_ROLE_CLAIM', claim().default('roles'), {
    description:
      'Claim of the ID token with the roles or groups of a person, a text or a list; dots lead into objects, such as `realm_access.roles`.',
  }),
  nameClaim: variable('OIDC_NAME_CLAIM', claim().exactOptional(), {
    description:
      'Claim of the ID token with the name for the audit stream, where it is preceded by `oidc:`. Default: `email` where `email_verified` is true, otherwise `sub`.',
    note: 'With a claim that people can change themselves, one can act under the name of another.',
  }),
  scope: variable(
    'OIDC_SCOPE',
    text(
      /^(?:[\x21\x23-\x5b\x5d-\x7e]+ )*openid(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/,
      'scopes with openid among them, separated by single spaces',
    ).default('openid profile email'),
    {
      description:
        'Scopes that are requested; some providers add the role claim for one, such as `groups`.',
    },
  ),
  publicUrl: variable(
    'OPS_PUBLIC_URL',
    text(
      new RegExp(String.raw`^https?://${HOST}$`),
      'https:// (or http:// on this machine) with a host, without a path or a slash at its end',
    ).exactOptional(),
    {
      description:
        'URL under which people reach the ops server. The provider sends them back to its path `/sign-in/provider/callback`, which must be registered there.',
    },
  ),
};
