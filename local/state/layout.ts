/** Files of a local cluster below its state directory, beside those of the node (`../node/layout.ts`). */
export interface StateLayout {
  /** Token of the API server. */
  readonly token: string;
  /** Certificate of the API server, and its key. */
  readonly certificate: string;
  readonly key: string;
  /** How kubectl and krt reach the cluster. */
  readonly kubeconfig: string;
  /** Objects of a cluster that survives a restart. */
  readonly database: string;
  /** Where the process that runs the cluster serves it. */
  readonly endpoint: string;
}

export function stateLayout(directory: string): StateLayout {
  return {
    token: `${directory}/token`,
    certificate: `${directory}/tls.crt`,
    key: `${directory}/tls.key`,
    kubeconfig: `${directory}/kubeconfig`,
    database: `${directory}/cluster.sqlite`,
    endpoint: `${directory}/endpoint.json`,
  };
}
