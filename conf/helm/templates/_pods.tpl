{{/* What every object is labelled with; .part names the program. Called with (dict "root" $ "part" "page"). */}}
{{- define "rollcall.labels" -}}
{{ include "rollcall.chosen" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{/* The labels by which a Service or a Deployment chooses its pods. */}}
{{- define "rollcall.chosen" -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* The labels of executors, which no Service chooses. */}}
{{- define "rollcall.executor" -}}
app.kubernetes.io/name: rollcall-executor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rollcall.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The metadata of a pod's template: a changed setting makes new pods. .port: of /metrics, 0 where there are none. */}}
{{- define "rollcall.podMetadata" -}}
labels: {{- include "rollcall.labels" . | nindent 2 }}
annotations:
  rollcall/settings: {{ .root.Values.settings | toJson | sha256sum | trunc 16 }}
  {{- if and .port (not .root.Values.serviceMonitor.enabled) }}
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .port | quote }}
  {{- end }}
{{- end }}

{{/* The account of every pod but the driver's: it may do nothing in Kubernetes, and its token is not mounted. */}}
{{- define "rollcall.powerless" -}}
serviceAccountName: {{ .Release.Name }}-worker
automountServiceAccountToken: false
{{- end }}

{{/* Who a pod runs as. */}}
{{- define "rollcall.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65534
  runAsGroup: 65534
  fsGroup: 65534
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* What the pods of every program share: who they run as, and where they run. */}}
{{- define "rollcall.pod" -}}
{{- include "rollcall.podSecurity" . }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What every container shares. */}}
{{- define "rollcall.container" -}}
image: {{ include "rollcall.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{ include "rollcall.containerSecurity" . }}
{{- end }}

{{/* What a container may do, an executor's as well, and the store's credentials. */}}
{{- define "rollcall.containerSecurity" -}}
securityContext:
  privileged: false
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- with .Values.credentialsSecret }}
envFrom:
  - secretRef: {name: {{ . }}}
{{- end }}
{{- end }}

{{/* The folders that a container may write. */}}
{{- define "rollcall.writableMounts" -}}
- {name: work, mountPath: /var/lib/rollcall}
- {name: temporary, mountPath: /tmp}
{{- end }}

{{- define "rollcall.writableVolumes" -}}
- name: work
  emptyDir: {sizeLimit: {{ .Values.sizeLimits.work }}}
- name: temporary
  emptyDir: {sizeLimit: {{ .Values.sizeLimits.temporary }}}
{{- end }}

{{/* The folders of a container; .secret names the Secret with users and TLS, empty for none. */}}
{{- define "rollcall.mounts" -}}
- {name: settings, mountPath: /etc/rollcall}
{{ include "rollcall.writableMounts" .root }}
{{- if .secret }}
- {name: secret, mountPath: /etc/rollcall-secret, readOnly: true}
{{- end }}
{{- end }}

{{- define "rollcall.volumes" -}}
- name: settings
  configMap: {name: {{ .root.Release.Name }}}
{{ include "rollcall.writableVolumes" .root }}
{{- if .secret }}
- name: secret
  secret: {secretName: {{ .secret }}}
{{- end }}
{{- end }}

{{/* Probes of a program that answers /health on its port `metrics`. Spark and a large home take a while to start. */}}
{{- define "rollcall.healthProbes" -}}
startupProbe:
  httpGet: {path: /health, port: metrics}
  periodSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /health, port: metrics}
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{/* The lines of a settings file. The service's names are added to those under which metrics are served. */}}
{{- define "rollcall.settings" -}}
{{- $service := printf "%s-metrics" .Release.Name }}
{{- $inside := printf "%s.%s" $service .Release.Namespace }}
{{- $names := list $service $inside (printf "%s.svc" $inside) (printf "%s.svc.cluster.local" $inside) }}
{{- $more := get .Values.settings "rollcall.metrics.hosts" | splitList "," | compact }}
{{- $hosts := dict "rollcall.metrics.hosts" (concat $names $more | join ",") }}
{{- range $key, $value := merge $hosts .Values.settings }}
{{ $key }}={{ $value }}
{{- end }}
{{- end }}
