//! Samples: numbers of one moment, by metric, in Prometheus' text format.
//!
//! What is counted all the time are metrics of `prometheus-client` itself; samples are read when somebody asks for them.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;

/// Labels of a series.
pub type Labels = Vec<(&'static str, String)>;

/// Numbers of one moment, by metric.
#[derive(Default, Debug)]
pub struct Samples(Vec<Sample>);

#[derive(Debug)]
struct Sample {
    name: &'static str,
    help: &'static str,
    metric_type: MetricType,
    series: Vec<(Labels, Figure)>,
}

/// A number of one moment, which belongs to one database.
#[derive(Clone, Debug)]
pub struct DatabaseSample {
    /// The metric's name, without the program's.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Labels beside that of the database.
    pub labels: Labels,
    /// The number.
    pub figure: Figure,
}

/// A number, by its kind.
#[derive(Clone, Debug)]
pub enum Figure {
    /// It goes up and down.
    Gauge(f64),
    /// It only grows.
    Counter(f64),
    /// How often each size was seen.
    Histogram(Histogram),
}

impl Samples {
    /// Adds a gauge or a counter.
    pub fn add(
        &mut self,
        metric_type: MetricType,
        name: &'static str,
        help: &'static str,
        labels: Labels,
        value: f64,
    ) {
        let figure = match metric_type {
            MetricType::Counter => Figure::Counter(value),
            _ => Figure::Gauge(value),
        };
        self.add_figure(name, help, labels, figure);
    }

    /// Adds the samples of the database `name`.
    pub fn add_all(&mut self, samples: &[DatabaseSample], name: &str) {
        for sample in samples {
            let labels = [("database", name.to_owned())].into_iter().chain(sample.labels.clone()).collect();
            self.add_figure(sample.name, sample.help, labels, sample.figure.clone());
        }
    }

    /// The text of these alone.
    #[must_use]
    pub fn into_text(self) -> String {
        let mut registry = Registry::with_prefix("evergraph");
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // A string takes all that is written to it.
        let _ = encode(&mut text, &registry);
        text
    }

    fn add_figure(&mut self, name: &'static str, help: &'static str, labels: Labels, figure: Figure) {
        match self.0.iter_mut().find(|sample| sample.name == name) {
            Some(sample) => sample.series.push((labels, figure)),
            None => {
                let metric_type = figure.metric_type();
                self.0.push(Sample { name, help, metric_type, series: vec![(labels, figure)] });
            }
        }
    }
}

impl Figure {
    fn metric_type(&self) -> MetricType {
        match self {
            Self::Gauge(_) => MetricType::Gauge,
            Self::Counter(_) => MetricType::Counter,
            Self::Histogram(_) => MetricType::Histogram,
        }
    }
}

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for sample in &self.0 {
            let mut metric = encoder.encode_descriptor(sample.name, sample.help, None, sample.metric_type)?;
            for (labels, figure) in &sample.series {
                let mut series = metric.encode_family(labels)?;
                match figure {
                    Figure::Gauge(value) => series.encode_gauge(value)?,
                    Figure::Counter(value) => series.encode_counter::<NoLabelSet, _, u64>(value, None)?,
                    Figure::Histogram(histogram) => histogram.encode(series)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_is_described_once_and_buckets_add_up() {
        let histogram = |sizes: &[f64]| {
            let histogram = Histogram::new([0.5, 1.0]);
            sizes.iter().for_each(|size| histogram.observe(*size));
            Figure::Histogram(histogram)
        };
        let of = |figure| DatabaseSample {
            name: "replica_freshness_seconds",
            help: "How late",
            labels: Vec::new(),
            figure,
        };
        let mut samples = Samples::default();
        samples.add_all(&[of(histogram(&[0.1, 2.0, 3.0]))], "a");
        samples.add_all(&[of(histogram(&[0.1, 0.7]))], "b");
        let labels = vec![("cause", "nan".to_owned())];
        let losses =
            DatabaseSample { name: "replica_losses", help: "Lost", labels, figure: Figure::Counter(7.0) };
        samples.add_all(&[losses], "a");
        let text = samples.into_text();
        assert_eq!(text.matches("# TYPE evergraph_replica_freshness_seconds histogram").count(), 1, "{text}");
        for line in [
            "evergraph_replica_freshness_seconds_bucket{database=\"a\",le=\"0.5\"} 1",
            "evergraph_replica_freshness_seconds_bucket{database=\"a\",le=\"+Inf\"} 3",
            "evergraph_replica_freshness_seconds_count{database=\"b\"} 2",
            "evergraph_replica_losses_total{database=\"a\",cause=\"nan\"} 7.0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
