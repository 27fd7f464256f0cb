{{/* labels of all objects */}}
{{- define "logstow.labels" -}}
app.kubernetes.io/part-of: logstow
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* image of a program: (list $ "shipper") */}}
{{- define "logstow.image" -}}
{{- $top := index . 0 -}}
image: {{ printf "%s/%s:%s" $top.Values.image.repository (index . 1) (default $top.Chart.AppVersion $top.Values.image.tag) | quote }}
imagePullPolicy: {{ $top.Values.image.pullPolicy }}
{{- end }}

{{/* pod of a program, without user: (list $ "retain") */}}
{{- define "logstow.pod" -}}
{{- $top := index . 0 -}}
serviceAccountName: {{ $top.Values.nameOverride }}-{{ index . 1 }}
automountServiceAccountToken: false
{{- with $top.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* user of pods: nobody's, without a name */}}
{{- define "logstow.user" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "logstow.restricted" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "logstow.store" -}}
envFrom:
  - configMapRef: {name: {{ .Values.nameOverride }}-store}
{{- with .Values.store.secret }}
  - secretRef: {name: {{ . }}}
{{- end }}
{{- end }}

{{- define "logstow.scraped" -}}
prometheus.io/scrape: "true"
prometheus.io/port: "9464"
{{- end }}

{{/* inputs of the node's shipper */}}
{{- define "logstow.inputs" -}}
- files: ["/var/log/pods/**/*.log"]
  exclude:
    - {{ printf "/var/log/pods/%s_*/**" .Release.Namespace }}
{{- range .Values.node.excludeNamespaces }}
    - {{ printf "/var/log/pods/%s_*/**" . }}
{{- end }}
  service: "{namespace}.{container}"
  from-start: true
{{- if .Values.node.podMetadata.enabled }}
  pod-metadata:
    labels: {{ toJson .Values.node.podMetadata.labels }}
    node: ${NODE_NAME}
{{- end }}
{{- end }}

{{/* configuration of the node's shipper */}}
{{- define "logstow.nodeConfig" -}}
{{- $config := deepCopy .Values.node.config -}}
{{- if not $config.inputs -}}
{{- $_ := set $config "inputs" (include "logstow.inputs" . | fromYamlArray) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{/* configuration of the relays */}}
{{- define "logstow.relayConfig" -}}
{{- $config := deepCopy .Values.relay.config -}}
{{- $_ := set $config "inputs" (list (merge (dict "relay" "0.0.0.0:4319") .Values.relay.input)) -}}
{{- toYaml $config -}}
{{- end }}

{{/* a job that runs shipper: (list $ "retain" "schedule" activeDeadlineSeconds (list of arguments)) */}}
{{- define "logstow.job" -}}
{{- $top := index . 0 -}}
{{- $command := index . 1 -}}
{{- $values := index $top.Values $command -}}
{{- $name := printf "%s-%s" $top.Values.nameOverride $command -}}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ $name }}
  namespace: {{ $top.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ $name }}
    {{- include "logstow.labels" $top | nindent 4 }}
spec:
  schedule: {{ $values.schedule | quote }}
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 3600
  successfulJobsHistoryLimit: 3
  failedJobsHistoryLimit: 3
  jobTemplate:
    spec:
      activeDeadlineSeconds: {{ index . 2 }}
      backoffLimit: 2
      template:
        metadata:
          labels:
            app.kubernetes.io/name: {{ $name }}
            {{- include "logstow.labels" $top | nindent 12 }}
            azure.workload.identity/use: "true"
        spec:
          {{- include "logstow.pod" (list $top $command) | nindent 10 }}
          restartPolicy: Never
          {{- include "logstow.user" $top | nindent 10 }}
          containers:
            - name: {{ $command }}
              {{- include "logstow.image" (list $top "shipper") | nindent 14 }}
              args: {{ toJson (concat (list $command) (index . 3) $values.args) }}
              {{- include "logstow.store" $top | nindent 14 }}
              resources: {{ toJson $values.resources }}
              {{- include "logstow.restricted" $top | nindent 14 }}
              {{- with $values.tempSize }}
              volumeMounts:
                - {name: tmp, mountPath: /tmp}
              {{- end }}
          {{- with $values.tempSize }}
          volumes:
            - name: tmp
              emptyDir: {sizeLimit: {{ . }}}
          {{- end }}
{{- end }}
