import type { UserInfo } from "#local/apiserver/index.ts";

/** Everybody who holds the token: the administrator of the cluster. */
export const tokenUser: UserInfo = { username: "krt-local", groups: ["system:masters", "system:authenticated"] };

/** The controller, under the name that the chart gives it: its child Runs prove their workspace as they do in a cluster. */
export const controllerUser: UserInfo = {
  username: "system:serviceaccount:kruntimes:kruntimes-controller",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kruntimes", "system:authenticated"],
};

/** What runs in the process of the API server and has no name of its own. */
export const systemUser: UserInfo = { username: "system:kruntimes-local", groups: ["system:masters"] };
