{{/*
The Deployment of a component. Of a dict: root, component, args (list), and optionally valuesKey (where the values of the component
are, if not under its name), ports, volumes, volumeMounts (lists) and preStop (an object).
*/}}
{{- define "kruntimes.deployment" -}}
{{- $values := index .root.Values (.valuesKey | default .component) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
spec:
  replicas: {{ $values.replicas }}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      {{- include "kruntimes.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "kruntimes.labels" . | nindent 8 }}
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "kruntimes.componentName" . }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: { type: RuntimeDefault }
      terminationGracePeriodSeconds: 30
      containers:
        - name: {{ .component }}
          image: {{ include "kruntimes.image" .root }}
          {{- with .root.Values.image.pullPolicy }}
          imagePullPolicy: {{ . }}
          {{- end }}
          args:
            - {{ .component }}
            {{- range .args }}
            - {{ . | quote }}
            {{- end }}
            - --log-level={{ $values.logLevel }}
          env:
            - { name: POD_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
            - { name: POD_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
            - { name: POD_UID, valueFrom: { fieldRef: { fieldPath: metadata.uid } } }
          ports:
            - { name: http, containerPort: 8080 }
            {{- with .ports }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 5
            timeoutSeconds: 3
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          {{- with .preStop }}
          lifecycle:
            preStop:
              {{- toYaml . | nindent 14 }}
          {{- end }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          {{- with .volumeMounts }}
          volumeMounts:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with .volumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- if $values.topologySpreadConstraints }}
        {{- toYaml $values.topologySpreadConstraints | nindent 8 }}
        {{- else }}
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "kruntimes.selector" $ | nindent 14 }}
        {{- end }}
        {{- end }}
{{- end -}}

{{/* ServiceAccount, metrics Service, PodDisruptionBudget and NetworkPolicy of a component. Of a dict: root, component, and
optionally valuesKey and openPorts (list of numbers that the API server calls). */}}
{{- define "kruntimes.around" -}}
{{- $values := index .root.Values (.valuesKey | default .component) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
---
apiVersion: v1
kind: Service
metadata:
  {{- /* The name of a Service has at most 63 characters. */}}
  name: {{ include "kruntimes.componentName" . | trunc 55 | trimSuffix "-" }}-metrics
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
spec:
  # Each replica has its own numbers.
  clusterIP: None
  selector:
    {{- include "kruntimes.selector" . | nindent 4 }}
  ports:
    - { name: http, port: 8080, targetPort: http }
{{- if and .root.Values.podDisruptionBudgets.enabled (gt (int $values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "kruntimes.selector" . | nindent 6 }}
{{- end }}
{{- if .root.Values.networkPolicies.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "kruntimes.selector" . | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    {{- range .openPorts }}
    # The API server may call from an address that no selector can name.
    - ports: [{ port: {{ . }}, protocol: TCP }]
      {{- with $.root.Values.networkPolicies.apiServerFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- with .root.Values.networkPolicies.metricsFrom }}
    - ports: [{ port: 8080, protocol: TCP }]
      from:
        {{- toYaml . | nindent 8 }}
    {{- end }}
{{- end }}
{{- if .root.Values.metrics.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
    {{- with .root.Values.metrics.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "kruntimes.selector" . | nindent 6 }}
  endpoints:
    - port: http
      interval: {{ .root.Values.metrics.serviceMonitor.interval }}
      scrapeTimeout: {{ .root.Values.metrics.serviceMonitor.scrapeTimeout }}
{{- end }}
{{- end -}}
