import { type ReferenceKind, referencePaths } from "#api/pod-layout.ts";

/** Where a local cluster keeps things, below its state directory. Names only, nothing is made here. */
export interface NodeLayout {
  readonly stateDirectory: string;
  /** The directories of all Pods, by UID. */
  readonly pods: string;
  /** Everything of one Pod. */
  podDirectory(podUid: string): string;
  /** Directory that stands for a volume that lives as long as its Pod. */
  podVolume(podUid: string, volume: string): string;
  /** Directory that stands for a mounted Secret or ConfigMap. */
  podReference(podUid: string, kind: ReferenceKind, name: string): string;
  /** Socket on which the agent of a Pod serves artifacts: all Pods share the ports of this machine. */
  artifactSocket(podUid: string): string;
  /** Directory that stands for a PersistentVolumeClaim. */
  claim(namespace: string, name: string): string;
  /** Output of one container of a Pod. */
  containerLog(podUid: string, container: string): string;
  /** Token of the API server; readable by its owner only. */
  readonly tokenFile: string;
}

/** @param stateDirectory absolute path of the state directory of the cluster */
export function nodeLayout(stateDirectory: string): NodeLayout {
  const pods = `${stateDirectory}/pods`;
  const podDirectory = (uid: string) => `${pods}/${uid}`;
  return {
    stateDirectory,
    pods,
    podDirectory,
    podVolume: (uid, volume) => `${podDirectory(uid)}/${volume}`,
    podReference: (uid, kind, name) => `${podDirectory(uid)}/references/${referencePaths[kind]}/${name}`,
    artifactSocket: (uid) => `${podDirectory(uid)}/artifacts.sock`,
    claim: (namespace, name) => `${stateDirectory}/claims/${namespace}/${name}`,
    containerLog: (uid, container) => `${podDirectory(uid)}/${container}.log`,
    tokenFile: `${stateDirectory}/token`,
  };
}
